// SPDX-License-Identifier: MIT
// tests/unit/regions/own_pages: heaps in pages of their own: node, name, growth, and blocks that
// outlive their heap.
#include <gtest/gtest.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// An emulator keeps books on every page of 64 GiB.
constexpr size_t usual_bytes = TALUS_COPY_ONLY != 0 ? 512 * mib : 0;

talus_heap* heap_with_pages(const char* name = "own", unsigned numa_node = 0,
                            size_t bytes = usual_bytes) {
  talus_provider provider{};
  provider.bytes = bytes;
  talus_heap_options options{};
  options.name = name;
  options.flags = TALUS_HEAP_OWN_PAGES;
  options.numa_node = numa_node;
  options.provider = &provider;
  return api::heap_new(&options);
}
const RegionHeap* region_behind(talus_heap* heap) {
  return region_of(api::handle_in(heap), "test");
}
bool has_no_owner(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  return page_map.word_of(at).has_no_owner() && page_map.descriptor_of(at) == nullptr;
}
bool is_mapped_here(const void* address) {
  unsigned char page = 0;
  void* const at =
      reinterpret_cast<void*>(round_down(reinterpret_cast<uintptr_t>(address), os::page_bytes()));
  return mincore(at, 1, &page) == 0;
}

TEST(OwnPages, AreUsedOnlyWhereTheyAreAskedFor) {
  talus_heap* plain = api::heap_new(nullptr);
  EXPECT_EQ(region_behind(plain), nullptr);
  api::heap_destroy(plain);
  talus_heap* own = heap_with_pages();
  ASSERT_NE(region_behind(own), nullptr);
  EXPECT_STREQ(api::heap_name(own), "own");
  api::heap_destroy(own);
  talus_heap_options wrong{};
  wrong.flags = TALUS_HEAP_OWN_PAGES << 1;
  EXPECT_EQ(api::heap_new(&wrong), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(OwnPages, GrowAndGoBack) {
  talus_heap* heap = heap_with_pages();
  const RegionHeap& region = *region_behind(heap);
  EXPECT_EQ(region.committed_bytes, 0u);
  std::vector<char*> blocks;
  size_t bytes = 1000;
  for (; bytes < 200 * mib; bytes *= 3) {
    blocks.push_back(static_cast<char*>(api::heap_malloc(heap, bytes)));
    ASSERT_NE(blocks.back(), nullptr) << bytes;
    blocks.back()[0] = blocks.back()[bytes - 1] = 1;
  }
  EXPECT_GE(region.committed_bytes, bytes / 3);
  for (char* block : blocks) api::free(block);
  EXPECT_LE(region.committed_bytes, mib + slice_bytes);
  auto* again = static_cast<char*>(api::heap_malloc(heap, bytes / 3));
  EXPECT_TRUE(test::is_zero(again + 2 * mib, 4 * mib)) << "its memory was given back";
  api::heap_destroy(heap);
  EXPECT_TRUE(has_no_owner(again));
}

TEST(OwnPages, EndAtTheirSize) {
  talus_heap* heap = heap_with_pages("small", 0, 4 * mib);
  EXPECT_EQ(api::heap_malloc(heap, 5 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* all = api::heap_malloc(heap, 4 * mib);
  ASSERT_NE(all, nullptr);
  memset(all, 1, 4 * mib);
  EXPECT_EQ(api::heap_malloc(heap, 1), nullptr);
  api::heap_destroy(heap);
}

TEST(OwnPages, OfManyHeapsAtATime) {
  std::vector<talus_heap*> heaps;
  for (int i = 0; i < (TALUS_COPY_ONLY != 0 ? 10 : 200); i++) {
    heaps.push_back(heap_with_pages());
    ASSERT_NE(heaps.back(), nullptr) << i;
    ASSERT_NE(api::heap_malloc(heaps.back(), 100), nullptr) << i;
  }
  for (talus_heap* heap : heaps) api::heap_destroy(heap);
  EXPECT_TRUE(test::space_is_sound());
}

// ---- node and name

TEST(OwnPages, LieOnTheNodeAskedFor) {
  talus_heap* heap = heap_with_pages("node", 1);
  if (heap == nullptr && errno == EPERM) GTEST_SKIP() << "the process may not ask for a node";
  ASSERT_NE(heap, nullptr) << errno;
  auto* block = static_cast<char*>(api::heap_malloc(heap, 10 * mib));
  for (size_t at = 0; at < 10 * mib; at += mib) {
    block[at] = 1;
    int mode = -1, node = -1;
    if (syscall(SYS_get_mempolicy, &mode, nullptr, 0, block + at, MPOL_F_ADDR) != 0) {
      api::heap_destroy(heap);
      GTEST_SKIP() << "a kernel without nodes";
    }
    ASSERT_EQ(mode, MPOL_PREFERRED) << at;
    ASSERT_EQ(syscall(SYS_get_mempolicy, &node, nullptr, 0, block + at, MPOL_F_NODE | MPOL_F_ADDR),
              0);
    ASSERT_EQ(node, 0);
  }
  api::heap_destroy(heap);
}

TEST(OwnPages, ThatCannotBe) {
  errno = 0;
  EXPECT_EQ(heap_with_pages("no such node", os::nodes_max), nullptr);
  EXPECT_TRUE(errno == EINVAL || errno == EPERM) << errno;
  errno = 0;
  EXPECT_EQ(heap_with_pages("nor this", ~0u), nullptr);
  EXPECT_EQ(errno, EINVAL);
  talus_provider file{};
  file.kind = TALUS_PROVIDER_FILE;
  file.bytes = mib;
  file.directory = "/tmp";
  talus_heap_options options{};
  options.provider = &file;
  options.numa_node = 1;
  errno = 0;
  EXPECT_EQ(api::heap_new(&options), nullptr);
  EXPECT_EQ(errno, EINVAL) << "pages of a file lie where the file system puts them";
  EXPECT_TRUE(test::space_is_sound());
}

bool kernel_has_names() {
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int answer = prctl(0x53564d41, 0, page, 4096, "talus:probe");
  munmap(page, 4096);
  return answer == 0;
}
size_t mappings_named(const std::string& name) {
  std::ifstream maps{"/proc/self/maps"};
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("[anon:" + name + "]") != std::string::npos;
  }
  return count;
}
TEST(OwnPages, HaveANameInMaps) {
  if (!kernel_has_names()) GTEST_SKIP() << "the kernel has no names for mappings";
  talus_heap* heap = heap_with_pages("requests");
  EXPECT_EQ(mappings_named("talus:requests"), 1u);
  api::heap_malloc(heap, 30 * mib);
  EXPECT_EQ(mappings_named("talus:requests"), 2u) << "used and unused ones";
  api::heap_destroy(heap);
  EXPECT_EQ(mappings_named("talus:requests"), 0u);
}

TEST(MappingName, IsMended) {
  EXPECT_STREQ(MappingName{"requests"}.text(), "talus:requests");
  EXPECT_STREQ(MappingName{"a[0]$\\`\n\x7f\xc3\xa9 z~"}.text(), "talus:a_0________ z~");
  const std::string longest(200, 'x');
  EXPECT_EQ(MappingName{longest.c_str()}.text(), "talus:" + std::string(73, 'x'));
}

// ---- blocks that outlive their heap

struct Kind {
  const char* name;
  talus_provider_kind kind;
  unsigned flags;
};
class LeftBlocks : public testing::TestWithParam<Kind> {
 protected:
  talus_heap* begin() {
    talus_provider provider{};
    provider.kind = GetParam().kind;
    provider.flags = GetParam().flags;
    provider.bytes = 8 * mib;
    provider.directory = "/tmp";
    talus_heap_options options{};
    options.provider = &provider;
    return api::heap_new(&options);
  }
};

TEST_P(LeftBlocks, EndWithTheLastOfThem) {
  for (int round = 0; round < 2; round++) {
    talus_heap* heap = begin();
    ASSERT_NE(heap, nullptr);
    std::vector<void*> blocks;
    for (size_t i = 0; i < 300; i++) {
      blocks.push_back(api::heap_malloc(heap, 100 * i));
      if (blocks.back() != nullptr) test::fill_pattern(blocks.back(), 100 * i, i);
    }
    void* const inside = blocks[0];
    ASSERT_EQ(api::heap_delete(heap), 0);
    EXPECT_EQ(api::heap_of(inside), nullptr);
    EXPECT_EQ(collect_totals().instance_count, 0u);
    talus_heap* next = begin();  // which has another id
    for (size_t i = 0; i < 300; i++) {
      if (blocks[i] == nullptr) continue;
      ASSERT_GE(usable_size(blocks[i]), 100 * i);
      ASSERT_TRUE(test::has_pattern(blocks[i], 100 * i, i));
      if (i % 3 == 0) {
        blocks[i] = api::realloc(blocks[i], 100 * i + 500);
        ASSERT_TRUE(test::has_pattern(blocks[i], 100 * i, i));
        ASSERT_EQ(api::heap_of(blocks[i]), nullptr);
      }
      void* const block = blocks[i];
      EXPECT_FALSE(i == 150 && has_no_owner(inside)) << "others live there";
      if (i % 20 == 0) std::thread([block] { api::free(block); }).join();
      if (i % 20 != 0) api::free(block);
    }
    EXPECT_TRUE(has_no_owner(inside));
    EXPECT_FALSE(is_mapped_here(inside));
    api::heap_destroy(next);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST_P(LeftBlocks, OfAnEmptyHeapEndAtOnce) {
  talus_heap* heap = begin();
  void* block = api::heap_malloc(heap, 1000);
  api::free(block);
  EXPECT_EQ(api::heap_delete(heap), 0);
  EXPECT_TRUE(has_no_owner(block));
  talus_heap* next = begin();
  EXPECT_EQ(index_of(id_in_handle(api::handle_in(next))),
            index_of(id_in_handle(api::handle_in(heap))))
      << "the id is used again";
  api::heap_destroy(next);
}

TEST_P(LeftBlocks, CrossAFork) {
  test::begin_forks();
  talus_heap* heap = begin();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 50; i++) {
    blocks.push_back(api::heap_malloc(heap, 1000 * i));
    test::fill_pattern(blocks.back(), 1000 * i, i);
  }
  ASSERT_EQ(api::heap_delete(heap), 0);
  const auto use_up = [&blocks] {
    bool is_well = true;
    for (size_t i = 0; i < 50; i++) {
      is_well = is_well && test::has_pattern(blocks[i], 1000 * i, i);
      api::free(blocks[i]);
    }
    return is_well && has_no_owner(blocks[0]);
  };
  const pid_t child = fork();
  if (child == 0) _exit(use_up() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(use_up());
}

// The one end of a heap during which others may free its blocks.
TEST_P(LeftBlocks, AreFreedWhileTheHeapIsDeleted) {
  for (int round = 0; round < 10; round++) {
    talus_heap* heap = begin();
    std::vector<void*> blocks;
    for (size_t i = 0; i < 600; i++) blocks.push_back(api::heap_malloc(heap, 50 + i));
    test::on_threads(3, [&](size_t self) {
      if (self == 2) {
        EXPECT_EQ(api::heap_delete(heap), 0);
        return;
      }
      for (size_t i = self; i < blocks.size(); i += 2) api::free(blocks[i]);
    });
    ASSERT_TRUE(has_no_owner(blocks[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LeftBlocks,
    testing::Values(Kind{"kernel", TALUS_PROVIDER_OS, 0},
                    Kind{"prealloc", TALUS_PROVIDER_PREALLOC, 0},
                    Kind{"prealloc_and_more", TALUS_PROVIDER_PREALLOC, TALUS_PROVIDER_FALLBACK},
                    Kind{"file", TALUS_PROVIDER_FILE, 0},
                    Kind{"growing_file", TALUS_PROVIDER_FILE, TALUS_PROVIDER_GROW}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(OwnPages, ThePeakIsNoLessThanWhatThereIs) {
  talus_heap* heap = heap_with_pages("own", 0, 8 * mib);
  void* block = api::heap_malloc(heap, 600 * kib);
  const size_t first = api::heap_stats(heap).slab_bytes;
  EXPECT_GE(first, 600 * kib);
  EXPECT_EQ(api::heap_stats(heap).peak_bytes, first);
  void* more = api::heap_malloc(heap, 4 * mib);
  const size_t most = api::heap_stats(heap).slab_bytes;
  EXPECT_EQ(api::heap_stats(heap).peak_bytes, most);
  api::heap_free(heap, more);
  api::heap_free(heap, block);
  EXPECT_LT(api::heap_stats(heap).slab_bytes, most);
  EXPECT_EQ(api::heap_stats(heap).peak_bytes, most);
  api::heap_destroy(heap);
}

}  // namespace
}  // namespace talus::core
