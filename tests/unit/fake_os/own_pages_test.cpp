// SPDX-License-Identifier: MIT
// tests/unit/fake_os/own_pages: what a heap with pages of its own asks the kernel for, and what
// becomes of a refusal.
#include <gtest/gtest.h>

#include <cerrno>

#include "api/heaps.hpp"
#include "fake_os/sequence.hpp"

namespace talus::core {
namespace {

using os::fake_plan;
using os::FakeCall;

talus_heap* heap_on_node(unsigned numa_node, talus_provider_kind kind = TALUS_PROVIDER_OS,
                         const char* name = "a [heap]", size_t bytes = 256 * mib) {
  talus_provider provider{};
  provider.kind = kind;
  provider.bytes = kind == TALUS_PROVIDER_OS ? bytes : mib;
  talus_heap_options options{};
  options.name = name;
  options.flags = TALUS_HEAP_OWN_PAGES;
  options.numa_node = numa_node;
  options.provider = &provider;
  errno = 0;
  return api::heap_new(&options);
}
uint64_t calls_of(FakeCall kind) { return fake_plan.calls[test::row_of(kind)].load_relaxed(); }

TEST(OwnPagesAndTheKernel, NodeAndNameAreAskedForAllOfIt) {
  for (const auto kind : {TALUS_PROVIDER_OS, TALUS_PROVIDER_PREALLOC}) {
    const std::string wrong = test::run_in_child([=] {
      fake_plan.nodes.store_relaxed(4);
      talus_heap* heap = heap_on_node(4, kind);
      test::require(heap != nullptr, "no heap", static_cast<size_t>(errno));
      const RegionHeap& region = *region_of(api::handle_in(heap), "test");
      test::require(fake_plan.node_requested.load_relaxed() == 3, "node");
      test::require(fake_plan.node_at.load_relaxed() == region.base, "base");
      test::require(fake_plan.node_bytes.load_relaxed() == region.end - region.base, "bytes");
      test::require(fake_plan.name_at.load_relaxed() == region.base, "base of the name");
      test::require(fake_plan.name_bytes.load_relaxed() == region.end - region.base, "its bytes");
      test::require(strcmp(fake_plan.name, "talus:a _heap_") == 0, "name");
      api::heap_malloc(heap, kind == TALUS_PROVIDER_OS ? 100 * mib : kib);
      test::require(calls_of(FakeCall::prefer_node) == 1 && calls_of(FakeCall::name_mapping) == 1,
                    "once is enough");
    });
    EXPECT_EQ(wrong, "") << kind;
  }
}

TEST(OwnPagesAndTheKernel, NothingIsAskedForWithoutARequest) {
  const std::string wrong = test::run_in_child([] {
    for (const char* name : {"", static_cast<const char*>(nullptr)}) {
      test::require(heap_on_node(0, TALUS_PROVIDER_OS, name) != nullptr, "no heap");
    }
    test::require(calls_of(FakeCall::prefer_node) + calls_of(FakeCall::name_mapping) == 0, "asked");
  });
  EXPECT_EQ(wrong, "");
}

// One call for each arena, and none where the options want no names; a refusal changes nothing.
TEST(NamedArenas, AreNamedWhenTheyAreReserved) {
  for (const bool is_wanted : {false, true}) {
    const std::string wrong = test::run_in_child([is_wanted] {
      options.name_mappings = is_wanted;
      const uint64_t maps = calls_of(FakeCall::map);
      for (int i = 0; i < 3; i++) {
        test::require(api::malloc(200 * mib) != nullptr, "no memory");
        const bool has_name = strcmp(fake_plan.name, "talus") == 0;
        test::require(has_name == is_wanted, "name");
      }
      const uint64_t names = calls_of(FakeCall::name_mapping);
      test::require(is_wanted ? names >= 2 : names == 0, "names", names);
      test::require(names <= calls_of(FakeCall::map) - maps, "more than one for an arena");
      const uintptr_t named = fake_plan.name_at.load_relaxed();
      test::require(!is_wanted || fake_plan.name_bytes.load_relaxed() >= 200 * mib, "its bytes");
      test::require(!is_wanted || page_map.has_leaf(named), "it is no arena");
      fake_plan.refuse_from[test::row_of(FakeCall::name_mapping)].store_relaxed(1);
      test::require(api::malloc(300 * mib) != nullptr, "a name that was refused");
    });
    EXPECT_EQ(wrong, "") << is_wanted;
  }
}

// What a moved block leaves is mapped anew, and would be a mapping apart without its name.
TEST(NamedArenas, AreNamedAgainWhereABlockLeft) {
  if (TALUS_COPY_ONLY != 0) GTEST_SKIP() << "blocks are copied";
  const std::string wrong = test::run_in_child([] {
    options.name_mappings = true;
    void* block = api::malloc(8 * mib);
    void* wall = api::malloc(8 * mib);
    test::require(block != nullptr && wall != nullptr, "no memory");
    const uint64_t renewed = calls_of(FakeCall::map_anew);
    void* moved = api::realloc(block, 64 * mib);
    test::require(moved != nullptr, "no memory");
    if (moved == block || calls_of(FakeCall::map_anew) == renewed) return;  // another kernel
    test::require(fake_plan.name_at.load_relaxed() == reinterpret_cast<uintptr_t>(block), "where");
    test::require(fake_plan.name_bytes.load_relaxed() == 8 * mib, "how much",
                  fake_plan.name_bytes.load_relaxed());
  });
  EXPECT_EQ(wrong, "");
}

// What a refusal of the node is to the program. A heap that was refused leaves nothing.
TEST(OwnPagesAndTheKernel, ARefusedNode) {
  constexpr long invalid = -22;
  constexpr struct {
    long answer;
    unsigned numa_node;
    int error;  // 0: there is a heap
  } cases[] = {{0, 4, 0},   {0, 5, EINVAL},   {invalid, 1, EINVAL}, {-14, 1, EINVAL},
               {-38, 1, 0}, {-38, 2, EINVAL}, {-1, 1, EPERM},       {-12, 1, ENOMEM}};
  for (const auto& one : cases) {
    for (const auto kind : {TALUS_PROVIDER_OS, TALUS_PROVIDER_PREALLOC}) {
      const std::string wrong = test::run_in_child([=] {
        fake_plan.nodes.store_relaxed(4);
        fake_plan.node_answer.store_relaxed(one.answer);
        const uint64_t unmaps = calls_of(FakeCall::unmap), maps = calls_of(FakeCall::map);
        talus_heap* heap = heap_on_node(one.numa_node, kind);
        test::require((heap != nullptr) == (one.error == 0), "heap");
        test::require(heap != nullptr || errno == one.error, "errno", static_cast<size_t>(errno));
        test::require(heap != nullptr || calls_of(FakeCall::unmap) > unmaps, "its pages stay");
        const uint64_t attempts = calls_of(FakeCall::map) - maps;
        test::require(one.error == 0 || attempts <= 2, "tried again", attempts);
        fake_plan.node_answer.store_relaxed(0);
        test::require(heap_on_node(1, kind) != nullptr, "a kernel that is well again");
      });
      EXPECT_EQ(wrong, "") << one.answer << " " << one.numa_node << " " << kind;
    }
  }
}

TEST(OwnPagesAndTheKernel, ARefusedNameIsNothing) {
  const std::string wrong = test::run_in_child([] {
    fake_plan.refuse_from[test::row_of(FakeCall::name_mapping)].store_relaxed(1);
    talus_heap* heap = heap_on_node(0);
    test::require(heap != nullptr && errno == 0, "no heap");
    test::require(calls_of(FakeCall::name_mapping) == 1, "it was not asked for");
    test::require(api::heap_malloc(heap, 5 * mib) != nullptr, "no block");
  });
  EXPECT_EQ(wrong, "");
}

// Fewer addresses where the kernel refuses that number; none, where a program says how many.
TEST(OwnPagesAndTheKernel, FewerAddressesAreBetterThanNone) {
  const std::string wrong = test::run_in_child([] {
    free_block(allocate(1));
    const size_t row = test::row_of(FakeCall::map);
    const uint64_t made = calls_of(FakeCall::map);
    fake_plan.refuse_at[row].store_relaxed(made + 1);
    test::require(heap_on_node(0) == nullptr && errno == ENOMEM, "a size that was said");
    fake_plan.refuse_at[row].store_relaxed(made + 2);
    const auto of_any_size = [] { return heap_on_node(0, TALUS_PROVIDER_OS, "any", 0); };
    talus_heap* heap = of_any_size();
    test::require(heap != nullptr, "no heap");
    const RegionHeap& region = *region_of(api::handle_in(heap), "test");
    test::require(region.end - region.base == kernel_region_bytes / 4, "size");
    test::refuse_maps();
    const uint64_t before = calls_of(FakeCall::map);
    test::require(of_any_size() == nullptr && errno == ENOMEM, "errno");
    const uint64_t attempts = calls_of(FakeCall::map) - before;
    test::require(attempts > 2 && attempts < 20, "attempts", attempts);
  });
  EXPECT_EQ(wrong, "");
}

// Where pages are refused, there is no memory, and there is some again when the kernel is well.
TEST(OwnPagesAndTheKernel, RefusedPagesAreNoMemory) {
  const std::string wrong = test::run_in_child([] {
    talus_heap* heap = heap_on_node(0);
    void* first = api::heap_malloc(heap, 100);
    test::require(first != nullptr, "first");
    const size_t row = test::row_of(FakeCall::allow);
    fake_plan.refuse_from[row].store_relaxed(calls_of(FakeCall::allow) + 1);
    test::require(api::heap_malloc(heap, 10 * mib) == nullptr && errno == ENOMEM, "refused");
    test::require(api::heap_malloc(heap, 1000) != nullptr, "what is there can be used");
    test::end_faults();
    fake_plan.refuse_at[row].store_relaxed(calls_of(FakeCall::allow) + 1);
    auto* block = static_cast<char*>(api::heap_malloc(heap, 10 * mib));
    test::require(block != nullptr, "the least that serves");
    for (size_t at = 0; at < 10 * mib; at += 4096) block[at] = 1;
    test::require(api::heap_delete(heap) == 0, "delete");
  });
  EXPECT_EQ(wrong, "");
}

// Without memory for the page map free() would not know the blocks: there is no such heap.
TEST(OwnPagesAndTheKernel, NoThreadGetsAHeapWhoseBlocksAreUnknown) {
  const std::string wrong = test::run_in_child([] {
    free_block(allocate(1));
    const uint64_t made = calls_of(FakeCall::map);
    // Addresses and bookkeeping; then a leaf of the page map, which more addresses than the window
    // has need.
    fake_plan.refuse_at[test::row_of(FakeCall::map)].store_relaxed(made + 3);
    constexpr size_t bytes = 2 * PageMap::window_slices * slice_bytes;
    errno = 0;
    test::require(heap_on_node(0, TALUS_PROVIDER_OS, "unknown", bytes) == nullptr, "a heap");
    test::require(errno == ENOMEM, "errno", static_cast<size_t>(errno));
    test::require(calls_of(FakeCall::unmap) >= 2, "the addresses and the bookkeeping went back");
    talus_heap* heap = heap_on_node(0, TALUS_PROVIDER_OS, "known", bytes);
    test::require(heap != nullptr, "no heap by a kernel that is well again");
    test::require(api::heap_of(api::heap_malloc(heap, 100)) == heap, "its block");
    api::heap_destroy(heap);
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
