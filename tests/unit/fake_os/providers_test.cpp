// SPDX-License-Identifier: MIT
// tests/unit/fake_os/providers: memory from elsewhere on a kernel that refuses.
#include <gtest/gtest.h>

#include "api/heaps.hpp"
#include "fake_os/sequence.hpp"
#include "process/fork.hpp"
#include "process/provider.hpp"

namespace talus::core {
namespace {

using os::FakeCall;

alignas(64) char buffers[5][128 * kib];

talus_heap* heap_on(talus_provider_kind kind, void* buffer, size_t bytes, unsigned flags = 0) {
  talus_provider request{};
  request.kind = kind;
  request.buffer = buffer;
  request.bytes = bytes;
  request.flags = flags;
  request.directory = "/tmp";
  talus_heap_options options{};
  options.provider = &request;
  return api::heap_new(&options);
}

TEST(HeapOnABadKernel, LeavesNoMemoryWhereAddressesStay) {
  const std::string wrong = test::run_in_child([] {
    talus_heap* heaps[] = {heap_on(TALUS_PROVIDER_PREALLOC, nullptr, 4 * mib),
                           heap_on(TALUS_PROVIDER_OS, nullptr, 4 * mib)};
    test::refuse_unmaps();
    for (talus_heap* heap : heaps) {
      void* block = api::heap_malloc(heap, 80);
      test::fill_pattern(block, 80, 1);
      test::require(test::is_resident(block), "a block in use");
      api::heap_destroy(heap);
      test::require(!test::is_resident(block), "memory of a heap that is gone");
    }
  });
  EXPECT_EQ(wrong, "");
}

// From the first call of the process on the kernel maps nothing: not even the page map has memory
// for the buffer's addresses, and blocks are known by their heap.
TEST(BufferOnABadKernel, NeedsNoOtherMemory) {
  const std::string wrong = test::run_in_child([] {
    test::refuse_maps();
    talus_heap* heaps[4];
    for (size_t i = 0; i < 4; i++) {
      heaps[i] = heap_on(TALUS_PROVIDER_BUFFER, buffers[i], sizeof buffers[i]);
      test::require(heaps[i] != nullptr, "a heap", i);
    }
    test::require(api::malloc(64 * mib) == nullptr, "there was other memory");
    for (talus_heap* heap : heaps) {
      void* blocks[50];
      for (size_t i = 0; i < 50; i++) {
        blocks[i] = i % 2 == 0 ? api::heap_malloc(heap, 20 * i) : api::heap_calloc(heap, i, 20);
        test::require(blocks[i] != nullptr, "a block", i);
        test::require(i % 2 == 0 || test::is_zero(blocks[i], 20 * i), "zero", i);
        test::fill_pattern(blocks[i], 20 * i, i);
        test::require(api::heap_contains(heap, blocks[i]) == 1, "contains", i);
      }
      for (size_t i = 0; i < 50; i++) {
        blocks[i] = api::heap_realloc(heap, blocks[i], 30 * i + 1);
        test::require(blocks[i] != nullptr, "a larger block", i);
        test::require(test::has_pattern(blocks[i], 20 * i, i), "contents", i);
      }
      test::require(api::heap_of(blocks[0]) == nullptr, "the page map had memory after all");
      test::require(api::heap_stats(heap).live_blocks == 50, "count");
      for (void* block : blocks) api::heap_free(heap, block);
      test::require(api::heap_stats(heap).live_bytes == 0, "all are free");
      while (api::heap_malloc(heap, 100) != nullptr) {}
    }
    for (talus_heap* heap : heaps) api::heap_destroy(heap);
    talus_heap* again = heap_on(TALUS_PROVIDER_BUFFER, buffers[4], sizeof buffers[4]);
    test::require(again != nullptr && api::heap_malloc(again, 100 * kib) != nullptr, "used again");
    test::end_faults();
    test::require(api::malloc(64 * mib) != nullptr, "a kernel that is well again");
  });
  EXPECT_EQ(wrong, "");
}

// A heap in each kind of memory, from its beginning to its end. Returns how many calls failed.
size_t run_heaps() {
  size_t refused = 0;
  constexpr struct {
    talus_provider_kind kind;
    unsigned flags;
  } kinds[] = {{TALUS_PROVIDER_OS, 0},       {TALUS_PROVIDER_BUFFER, 0},
               {TALUS_PROVIDER_PREALLOC, 0}, {TALUS_PROVIDER_PREALLOC, TALUS_PROVIDER_FALLBACK},
               {TALUS_PROVIDER_FILE, 0},     {TALUS_PROVIDER_FILE, TALUS_PROVIDER_GROW}};
  for (const auto& kind : kinds) {
    const size_t bytes = kind.kind == TALUS_PROVIDER_BUFFER ? sizeof buffers[0] : 2 * mib;
    talus_heap* heap = heap_on(kind.kind, buffers[0], bytes, kind.flags);
    refused += heap == nullptr;
    if (heap == nullptr) continue;
    void* blocks[60];
    for (size_t round = 0; round < 3; round++) {
      for (size_t i = 0; i < 60; i++) {
        const size_t wanted = i == 30 && round == 1 && bytes > mib ? mib : 40 * i;
        blocks[i] = api::heap_malloc(heap, wanted);
        refused += blocks[i] == nullptr;
        if (blocks[i] == nullptr) continue;
        test::fill_pattern(blocks[i], wanted, i);
        if (kind.kind == TALUS_PROVIDER_BUFFER) continue;
        test::require(api::heap_of(blocks[i]) == heap, "unknown to free", i);
      }
      for (size_t i = 0; i < 60; i++) {
        if (blocks[i] == nullptr) continue;
        test::require(test::has_pattern(blocks[i], i == 30 ? 1200 : 40 * i, i), "contents", i);
        api::heap_free(heap, blocks[i]);
      }
      api::heap_clear(heap);
    }
    api::heap_destroy(heap);
  }
  return refused;
}

class HeapsOnABadKernel : public testing::TestWithParam<FakeCall> {};
TEST_P(HeapsOnABadKernel, EveryCallIsRefusedOnce) {
  const size_t row = test::row_of(GetParam());
  ASSERT_EQ(test::run_in_child([] { test::require(run_heaps() == 0, "refused without a fault"); }),
            "");
  const uint64_t calls = test::child_report().calls[row];
  ASSERT_GT(calls, 0u);
  size_t refusals = 0;
  for (uint64_t call = 1; call <= calls; call++) {
    for (const bool is_lasting : {false, true}) {
      const std::string wrong = test::run_in_child([=] {
        os::FakePlan& plan = os::fake_plan;
        (is_lasting ? plan.refuse_from : plan.refuse_at)[row].store_relaxed(call);
        test::child_report().refused_count = run_heaps();
        test::require_quiet_heap();
        test::end_faults();
        test::require(run_heaps() == 0, "refused by a kernel that is well again");
        test::require_quiet_heap();
      });
      EXPECT_EQ(wrong, "") << "call " << call << ", lasting " << is_lasting;
      refusals += test::child_report().refused_count;
    }
  }
  EXPECT_TRUE(refusals > 0 || GetParam() == FakeCall::give_room_back ||
              GetParam() == FakeCall::unmap);
}
INSTANTIATE_TEST_SUITE_P(Calls, HeapsOnABadKernel,
                         testing::Values(FakeCall::map, FakeCall::unmap, FakeCall::allow,
                                         FakeCall::reserve_room, FakeCall::give_room_back,
                                         FakeCall::map_file));

// The process's memory in a file. What the kernel refuses is "no memory"; it is there when the
// kernel is well again. A range whose purge was refused has its memory before it is used.
size_t use_process_memory() {
  size_t refused = 0;
  void* blocks[100];
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < 100; i++) {
      const size_t bytes = i % 20 == 0 ? mib : 300 * i + 1;
      if ((blocks[i] = api::calloc(1, bytes)) == nullptr) refused++;
      if (blocks[i] == nullptr) continue;
      test::require(test::is_zero(blocks[i], bytes), "zero", i);
      test::fill_pattern(blocks[i], bytes, i);
    }
    for (size_t i = 0; i < 100; i++) {
      if (blocks[i] == nullptr) continue;
      test::require(test::has_pattern(blocks[i], i % 20 == 0 ? mib : 300 * i + 1, i), "contents",
                    i);
      api::free(blocks[i]);
    }
    for (int i = 0; i < 2; i++) purge_beyond(0);  // what was refused once is still not zero
  }
  return refused;
}

class FileOnABadKernel : public testing::TestWithParam<FakeCall> {};
TEST_P(FileOnABadKernel, IsOutOfMemoryAndNoFault) {
  const size_t row = test::row_of(GetParam());
  const auto begin = [] {
    ProviderChoice request;
    request.kind = ProviderKind::file;
    memcpy(request.directory, "/tmp", 5);
    test::require(start_file(request), "a file in /tmp");
  };
  ASSERT_EQ(test::run_in_child([&] {
              begin();
              test::require(use_process_memory() == 0, "refused without a fault");
            }),
            "");
  const uint64_t calls = test::child_report().calls[row];
  ASSERT_GT(calls, 0u);
  const uint64_t step = divide_up(calls, uint64_t{test::rounds_of(6)});
  for (uint64_t call = 2; call <= calls; call += step) {
    for (const bool is_lasting : {false, true}) {
      const std::string wrong = test::run_in_child([&] {
        begin();
        os::FakePlan& plan = os::fake_plan;
        (is_lasting ? plan.refuse_from : plan.refuse_at)[row].store_relaxed(call);
        use_process_memory();
        test::end_faults();
        test::require(use_process_memory() == 0, "refused by a kernel that is well again");
        test::require_quiet_heap();
      });
      EXPECT_EQ(wrong, "") << "call " << call << ", lasting " << is_lasting;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Calls, FileOnABadKernel,
                         testing::Values(FakeCall::reserve_room, FakeCall::give_room_back,
                                         FakeCall::map_file));

// A file whose holes are answered and not made: what was there is never taken for zero.
TEST(FileWithoutHoles, KeepsItsMemory) {
  EXPECT_EQ(test::run_in_child([] {
              ProviderChoice request;
              request.kind = ProviderKind::file;
              memcpy(request.directory, "/tmp", 5);
              test::require(start_file(request), "a file in /tmp");
              os::fake_plan.keeps_holes.store_relaxed(true);
              for (int round = 0; round < 3; round++) {
                test::require(use_process_memory() == 0, "refused");
                Held held{space.lock()};
                space.purge_beyond(held, 0);
              }
              const size_t row = test::row_of(FakeCall::give_room_back);
              test::require(os::fake_plan.calls[row].load_relaxed() > 0, "no hole was made");
            }),
            "");
}

// A provider that has bytes_left bytes left.
size_t bytes_left = 0;
bool commit_what_is_left(uintptr_t, size_t bytes, size_t) noexcept {
  if (bytes > bytes_left) return false;
  bytes_left -= bytes;
  return true;
}

// A block that grows takes some more than it needs, if the provider has more.
TEST(ScarceMemory, IsEnoughToGrowInPlace) {
  const std::string wrong = test::run_in_child([] {
    static constexpr PageProvider scarce = {test::reserve_some, commit_what_is_left, nullptr, false,
                                            false};
    bytes_left = 64 * mib;
    {
      Held held{space.lock()};
      test::require(space.use_provider(held, scarce, 0), "a provider");
    }
    void* block = api::malloc(4 * mib);
    test::fill_pattern(block, 4 * mib, 1);
    bytes_left = mib;
    test::require(api::realloc(block, 5 * mib) == block, "it fits where it is");
    test::require(test::has_pattern(block, 4 * mib, 1), "contents");
    test::require(bytes_left == 0, "all of it is in use");
    test::require(api::realloc(block, 6 * mib) == nullptr, "there is no more");
  });
  EXPECT_EQ(wrong, "");
}

size_t mapped_bytes() {
  size_t pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  EXPECT_EQ(fscanf(file, "%zu", &pages), 1);
  fclose(file);
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// What cannot be used is not kept.
TEST(PreallocOnABadKernel, IsAllOrNothing) {
  size_t refused_count = 0;
  for (uint64_t call = 1; call <= 8; call++) {
    const std::string wrong = test::run_in_child([=] {
      const size_t before = mapped_bytes();
      os::fake_plan.refuse_from[test::row_of(FakeCall::map)].store_relaxed(call);
      const bool is_there = start_prealloc(64 * mib);
      const size_t after = mapped_bytes();
      test::child_report().refused_count = is_there ? 0 : 1;
      test::require(is_there == (after >= before + 64 * mib), "it is there", call);
      test::end_faults();
      test::require(use_process_memory() == 0, "memory all the same");
    });
    EXPECT_EQ(wrong, "") << "call " << call;
    refused_count += test::child_report().refused_count;
  }
  EXPECT_GT(refused_count, 1u) << "no call behind the first was refused";
}

// Once it is there, nothing more is asked of the kernel.
TEST(PreallocOnABadKernel, IsAllThereIs) {
  const std::string wrong = test::run_in_child([] {
    test::require(start_prealloc(64 * mib), "a preallocation");
    uint64_t before[test::call_kinds];
    for (size_t row = 0; row < test::call_kinds; row++) {
      before[row] = os::fake_plan.calls[row].load_relaxed();
      os::fake_plan.refuse_from[row].store_relaxed(before[row] + 1);
    }
    test::require(use_process_memory() == 0, "there was enough");
    size_t count = 0;
    while (api::malloc(100000) != nullptr) count++;
    test::require(count > 500, "almost all of it is for blocks", count);
    const size_t row = test::row_of(FakeCall::purge);
    test::require(os::fake_plan.calls[row].load_relaxed() == before[row], "it was given back");
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
