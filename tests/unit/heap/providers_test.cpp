// SPDX-License-Identifier: MIT
// tests/unit/heap/providers: heaps of one's own whose memory comes from a buffer, a preallocation,
// a file or callbacks.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus {
namespace {

alignas(16) char static_buffers[2][200 * kib + 48];

talus_provider buffer_of(void* at, size_t bytes) {
  talus_provider wish{};
  wish.kind = TALUS_PROVIDER_BUFFER;
  wish.buffer = at;
  wish.bytes = bytes;
  return wish;
}
talus_provider wish_for(talus_provider_kind kind, size_t bytes, unsigned flags = 0) {
  talus_provider wish{};
  wish.kind = kind;
  wish.bytes = bytes;
  wish.flags = flags;
  if (kind == TALUS_PROVIDER_FILE) wish.directory = "/tmp";
  return wish;
}
talus_heap* heap_on(const talus_provider& wish, size_t limit_bytes = 0) {
  talus_heap_options options{};
  options.name = "provided";
  options.limit_bytes = limit_bytes;
  options.provider = &wish;
  return api::heap_new(&options);
}

// Fills a heap with blocks of many sizes, resizes and frees some, and looks at each of them.
void use_heap(talus_heap* heap, uintptr_t from, uintptr_t to) {
  constexpr size_t sizes[] = {1, 16, 100, 1000, 3000, 9000, 20000};
  std::map<void*, size_t> blocks;
  for (size_t i = 0; i < 60; i++) {
    const size_t bytes = sizes[i % 7];
    void* block = i % 3 == 0   ? api::heap_malloc(heap, bytes)
                  : i % 3 == 1 ? api::heap_calloc(heap, 1, bytes)
                               : api::heap_aligned_alloc(heap, 64, bytes);
    if (block == nullptr) continue;
    const uintptr_t at = reinterpret_cast<uintptr_t>(block);
    ASSERT_TRUE(at >= from && at + bytes <= to);
    ASSERT_TRUE(i % 3 != 2 || at % 64 == 0);
    ASSERT_TRUE(i % 3 != 1 || test::is_zero(block, bytes));
    ASSERT_EQ(api::heap_of(block), heap);
    ASSERT_EQ(api::heap_contains(heap, block), 1);
    ASSERT_EQ(api::heap_contains(heap, static_cast<char*>(block) + 1), 0);
    ASSERT_GE(usable_size(block), bytes);
    blocks[block] = bytes;
    test::fill_pattern(block, bytes, bytes);
  }
  ASSERT_GT(blocks.size(), 20u);
  size_t bytes_seen = 0, blocks_seen = 0, resized_count = 0;
  const auto note = [&](const talus_heap_area& area, void* block) {
    if (block == nullptr) return;
    EXPECT_EQ(area.block_bytes, usable_size(block));
    EXPECT_EQ(blocks.count(block), 1u);
    bytes_seen += area.block_bytes;
    blocks_seen++;
  };
  api::heap_walk(
      heap,
      [](const talus_heap_area* area, void* block, void* context) {
        (*static_cast<decltype(note)*>(context))(*area, block);
        return 0;
      },
      const_cast<void*>(static_cast<const void*>(&note)));
  EXPECT_EQ(blocks_seen, blocks.size());
  EXPECT_EQ(api::heap_stats(heap).live_blocks, blocks.size());
  EXPECT_EQ(api::heap_stats(heap).live_bytes, bytes_seen);
  for (auto& [block, bytes] : blocks) {
    ASSERT_TRUE(test::has_pattern(block, bytes, bytes));
    void* resized = api::realloc(block, bytes + 40);
    if (resized != nullptr) {
      resized_count++;
      ASSERT_EQ(api::heap_of(resized), heap) << "it stays where it is";
      ASSERT_TRUE(test::has_pattern(resized, bytes, bytes));
    }
    void* last = resized != nullptr ? resized : block;
    if (bytes % 2 == 0) {
      api::free(last);
    } else {
      std::thread([last] { api::free(last); }).join();
    }
  }
  EXPECT_GT(resized_count, 10u);
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 0u);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_malloc(heap, 5000);
  api::heap_clear(heap);
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 0u);
}
void use_buffer(char* at, size_t bytes) {
  memset(at, 0xa5, bytes);  // nothing counts on a buffer that is zero
  talus_heap* heap = heap_on(buffer_of(at, bytes));
  ASSERT_NE(heap, nullptr);
  EXPECT_STREQ(api::heap_name(heap), "provided");
  use_heap(heap, reinterpret_cast<uintptr_t>(at), reinterpret_cast<uintptr_t>(at) + bytes);
  EXPECT_EQ(api::heap_delete(heap), EINVAL) << "the caller wants the buffer back";
  api::heap_destroy(heap);
}

// What the page map knows of all granules that the buffer touches.
std::vector<std::pair<uint32_t, void*>> words_of(const char* at, size_t bytes) {
  std::vector<std::pair<uint32_t, void*>> words;
  const uintptr_t from = round_down(reinterpret_cast<uintptr_t>(at), granule_bytes);
  for (uintptr_t to = from; to < reinterpret_cast<uintptr_t>(at) + bytes; to += granule_bytes) {
    words.emplace_back(page_map.word_of(to).bits(), page_map.descriptor_of(to));
  }
  return words;
}

TEST(Buffer, WorksWhereverItLies) {
  char on_stack[150 * kib];
  use_buffer(on_stack, sizeof on_stack);
  use_buffer(static_buffers[0], 128 * kib);
  use_buffer(static_buffers[0] + 3, 128 * kib + 7);
  auto* block = static_cast<char*>(api::malloc(2 * mib));
  const auto before = words_of(block, 2 * mib);
  use_buffer(block, 2 * mib);
  EXPECT_EQ(words_of(block, 2 * mib), before);
  use_buffer(block, 128 * kib + 1);
  use_buffer(block + 100 * kib + 16, 500 * kib);
  use_buffer(block + 2 * mib - 200 * kib, 200 * kib);
  EXPECT_EQ(words_of(block, 2 * mib), before);
  test::fill_pattern(block, 2 * mib, 7);
  block = static_cast<char*>(api::realloc(block, 3 * mib));
  EXPECT_TRUE(test::has_pattern(block, 2 * mib, 7));
  api::free(block);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Buffer, IsNobodysAfterwards) {
  talus_heap* heap = heap_on(buffer_of(static_buffers[0], 128 * kib));
  void* block = api::heap_malloc(heap, 100);
  EXPECT_EQ(api::heap_of(block), heap);
  api::heap_destroy(heap);
  EXPECT_EQ(api::heap_of(block), nullptr);
  for (const auto& [word, descriptor] : words_of(static_buffers[0], sizeof static_buffers)) {
    EXPECT_EQ(word, 0u);
    EXPECT_EQ(descriptor, nullptr);
  }
}

// They may have a granule in common.
TEST(Buffer, HasNeighbours) {
  talus_heap* heaps[2];
  for (int i = 0; i < 2; i++) heaps[i] = heap_on(buffer_of(static_buffers[i], 200 * kib));
  for (int i = 0; i < 2; i++) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(static_buffers[i]);
    use_heap(heaps[i], from, from + 200 * kib);
  }
  api::heap_destroy(heaps[0]);
  use_heap(heaps[1], reinterpret_cast<uintptr_t>(static_buffers[1]),
           reinterpret_cast<uintptr_t>(static_buffers[1]) + 200 * kib);
  api::heap_destroy(heaps[1]);
}

// What docs/providers.md says of the smallest buffer.
TEST(Buffer, OfTheLeastSizeIsMostlyBlocks) {
  talus_heap* heap = heap_on(buffer_of(static_buffers[0], 128 * kib));
  for (const size_t bytes : {16, 64, 1000, 4096}) {
    size_t blocks = 0;
    while (api::heap_malloc(heap, bytes) != nullptr) blocks++;
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GE(blocks * bytes, 120 * kib);
    EXPECT_EQ(api::heap_stats(heap).live_blocks, blocks);
    api::heap_clear(heap);
  }
  EXPECT_NE(api::heap_malloc(heap, 120 * kib), nullptr);
  api::heap_destroy(heap);
}

TEST(Provider, ThatIsNotPossible) {
  char* at = static_buffers[0];
  const talus_provider_calls none{};
  talus_provider without_calls = wish_for(TALUS_PROVIDER_CALLBACKS, mib);
  talus_provider without_reserve = without_calls;
  without_reserve.calls = &none;
  talus_provider without_directory = wish_for(TALUS_PROVIDER_FILE, mib);
  without_directory.directory = nullptr;
  const talus_provider wrong[] = {buffer_of(at, 128 * kib - 1),
                                  buffer_of(nullptr, mib),
                                  buffer_of(at, SIZE_MAX),
                                  wish_for(TALUS_PROVIDER_OS, SIZE_MAX),
                                  wish_for(TALUS_PROVIDER_OS, mib, 1),
                                  wish_for(TALUS_PROVIDER_PREALLOC, 0),
                                  wish_for(TALUS_PROVIDER_PREALLOC, mib, 4),
                                  wish_for(TALUS_PROVIDER_PREALLOC, mib, TALUS_PROVIDER_GROW),
                                  without_calls,
                                  without_reserve,
                                  without_directory,
                                  wish_for(static_cast<talus_provider_kind>(7), mib)};
  for (const talus_provider& wish : wrong) {
    errno = 0;
    EXPECT_EQ(heap_on(wish), nullptr) << wish.kind;
    EXPECT_EQ(errno, EINVAL) << wish.kind;
  }
  talus_provider nowhere = wish_for(TALUS_PROVIDER_FILE, mib);
  nowhere.directory = "/proc/self/no-directory";
  errno = 0;
  EXPECT_EQ(heap_on(nowhere), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  talus_heap* plain = heap_on(wish_for(TALUS_PROVIDER_OS, 0));
  EXPECT_NE(plain, nullptr);
  api::heap_destroy(plain);
}

TEST(Provider, OfTheKernelAndFilesWork) {
  const talus_provider wishes[] = {wish_for(TALUS_PROVIDER_OS, 3 * mib),
                                   wish_for(TALUS_PROVIDER_PREALLOC, 3 * mib),
                                   wish_for(TALUS_PROVIDER_FILE, 3 * mib),
                                   wish_for(TALUS_PROVIDER_FILE, 3 * mib, TALUS_PROVIDER_GROW)};
  for (const talus_provider& wish : wishes) {
    for (int round = 0; round < 3; round++) {
      talus_heap* heap = heap_on(wish);
      ASSERT_NE(heap, nullptr);
      use_heap(heap, 0, UINTPTR_MAX);
      size_t blocks = 0;
      while (void* block = api::heap_malloc(heap, 100 * kib)) {
        memset(block, 1, 100 * kib);
        blocks++;
      }
      EXPECT_EQ(blocks, 30u);
      EXPECT_GE(api::heap_stats(heap).slab_bytes, 30 * 100 * kib);
      api::heap_destroy(heap);
    }
  }
}

// Dropped pages of a file come back as they were, so a large block is cleared byte by byte.
TEST(Provider, LargeZeroedBlocksAreZeroInAFile) {
  constexpr size_t bytes = calloc_purge_bytes_min + mib;
  for (const unsigned flags : {0u, TALUS_PROVIDER_GROW}) {
    talus_heap* heap = heap_on(wish_for(TALUS_PROVIDER_FILE, bytes + mib, flags));
    ASSERT_NE(heap, nullptr);
    void* block = api::heap_malloc(heap, bytes);
    ASSERT_NE(block, nullptr);
    memset(block, 0x5a, bytes);
    api::heap_free(heap, block);
    block = api::heap_calloc(heap, 1, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(test::is_zero(block, bytes)) << flags;
    api::heap_destroy(heap);
  }
}

TEST(Provider, FallsBackWhereItMay) {
  talus_heap* heap = heap_on(wish_for(TALUS_PROVIDER_PREALLOC, mib, TALUS_PROVIDER_FALLBACK));
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) {
    blocks.push_back(api::heap_malloc(heap, 1000));
    ASSERT_NE(blocks[i], nullptr);
    ASSERT_EQ(api::heap_of(blocks[i]), heap);
    test::fill_pattern(blocks[i], 1000, i);
  }
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 3000u);
  for (size_t i = 0; i < 3000; i++) {
    blocks[i] = api::realloc(blocks[i], 3000);
    ASSERT_NE(blocks[i], nullptr);
    ASSERT_EQ(api::heap_of(blocks[i]), heap);
    ASSERT_TRUE(test::has_pattern(blocks[i], 1000, i));
  }
  for (void* block : blocks) api::heap_free(heap, block);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_destroy(heap);
  EXPECT_TRUE(test::space_is_sound());
}

// A block that grows counts for what it has more, also where it has to move.
TEST(Provider, AMoveCountsOnceForTheLimit) {
  talus_heap* heap = heap_on(wish_for(TALUS_PROVIDER_OS, 8 * mib), mib);
  void* block = api::heap_malloc(heap, 600 * kib);
  void* wall = api::heap_malloc(heap, 16);
  test::fill_pattern(block, 600 * kib, 3);
  EXPECT_EQ(api::heap_realloc(heap, block, mib), nullptr) << "with the other block it is too much";
  void* moved = api::heap_realloc(heap, block, 700 * kib);
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, block);
  EXPECT_TRUE(test::has_pattern(moved, 600 * kib, 3));
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 700 * kib + 16);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 2u);
  api::heap_free(heap, wall);
  api::heap_free(heap, moved);
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 0u);
  EXPECT_NE(api::heap_malloc(heap, mib), nullptr);
  api::heap_destroy(heap);
}

// Slabs and large blocks lie on either side of the preallocation.
TEST(Provider, AWalkIsByAddressWhereItFellBack) {
  std::vector<talus_heap*> heaps;
  for (int round = 0; round < 8; round++) {
    talus_heap* heap = heap_on(wish_for(TALUS_PROVIDER_PREALLOC, mib, TALUS_PROVIDER_FALLBACK));
    heaps.push_back(heap);
    for (size_t i = 0; i < 300; i++) {
      ASSERT_NE(api::heap_malloc(heap, i % 10 == 0 ? 50000 : 10000), nullptr);
    }
    struct Seen {
      const void* last = nullptr;
      size_t blocks = 0;
    } seen;
    api::heap_walk(
        heap,
        [](const talus_heap_area* area, void* block, void* context) {
          auto& so_far = *static_cast<Seen*>(context);
          if (block != nullptr) {
            so_far.blocks++;
            return 0;
          }
          EXPECT_GT(area->base, so_far.last);
          so_far.last = area->base;
          return 0;
        },
        &seen);
    EXPECT_EQ(seen.blocks, 300u);
  }
  for (talus_heap* heap : heaps) api::heap_destroy(heap);
}

// Counts what it is asked for, and gives memory only where it was committed.
struct Caller {
  size_t reserves = 0, commits = 0, purges = 0, releases = 0;
  bool refuses = false;
  char* at = nullptr;
  size_t bytes = 0;

  static Caller& of(void* context) { return *static_cast<Caller*>(context); }
  static void* reserve(void* context, size_t bytes) {
    Caller& self = of(context);
    self.reserves++;
    if (self.refuses) return nullptr;
    void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    self.at = static_cast<char*>(at);
    self.bytes = bytes;
    return at;
  }
  static int commit(void* context, void* at, size_t bytes) {
    Caller& self = of(context);
    if (self.refuses) return ENOMEM;
    self.commits++;
    EXPECT_TRUE(at >= self.at && static_cast<char*>(at) + bytes <= self.at + self.bytes);
    return mprotect(at, bytes, PROT_READ | PROT_WRITE);
  }
  static int purge(void* context, void* at, size_t bytes) {
    of(context).purges++;
    EXPECT_EQ(madvise(at, bytes, MADV_DONTNEED), 0);
    return mprotect(at, bytes, PROT_NONE);
  }
  static void release(void* context, void* at, size_t bytes) {
    Caller& self = of(context);
    self.releases++;
    EXPECT_EQ(at, self.at);
    EXPECT_EQ(bytes, self.bytes);
    munmap(at, bytes);
  }
};
constexpr talus_provider_calls caller_calls = {Caller::reserve, Caller::commit, Caller::purge,
                                               Caller::release};

TEST(Callbacks, AreAskedBeforeMemoryIsUsed) {
  Caller caller;
  talus_provider wish = wish_for(TALUS_PROVIDER_CALLBACKS, 64 * mib);
  wish.calls = &caller_calls;
  wish.context = &caller;
  talus_heap* heap = heap_on(wish);
  ASSERT_NE(heap, nullptr);
  EXPECT_EQ(caller.commits, 0u);
  use_heap(heap, reinterpret_cast<uintptr_t>(caller.at),
           reinterpret_cast<uintptr_t>(caller.at) + caller.bytes);
  EXPECT_EQ(api::heap_delete(heap), EINVAL);
  EXPECT_GT(caller.commits, 0u);
  void* large = api::heap_malloc(heap, 20 * mib);
  memset(large, 1, 20 * mib);
  const size_t purges = caller.purges;
  api::free(large);
  EXPECT_GT(caller.purges, purges);
  caller.refuses = true;
  errno = 0;
  EXPECT_EQ(api::heap_malloc(heap, 20 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  caller.refuses = false;
  EXPECT_NE(api::heap_malloc(heap, 20 * mib), nullptr);
  EXPECT_EQ(caller.releases, 0u);
  api::heap_destroy(heap);
  EXPECT_EQ(caller.reserves, 1u);
  EXPECT_EQ(caller.releases, 1u);
  caller.refuses = true;
  EXPECT_EQ(heap_on(wish), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(caller.releases, 1u);
}

}  // namespace
}  // namespace talus
