// SPDX-License-Identifier: MIT
// tests/unit/fake_os/extended: batches, aligned places, zeroed resizing on a kernel that refuses.
// Answers may be null; nothing is lost, and nothing is wrong when the kernel is well again.
#include <gtest/gtest.h>

#include "api/extended.hpp"
#include "effort.hpp"
#include "fake_os/sequence.hpp"

namespace talus {
namespace {

using os::FakeCall;

// One of each call whose way to the kernel differs; what comes is used and freed. Returns how many
// were refused.
size_t run_extended() {
  size_t refused = 0;
  void* blocks[600];
  for (const size_t bytes : {size_t{100}, size_t{9000}, 200 * kib}) {
    const size_t count = bytes > small_bytes_max ? 20 : 600;
    const size_t made = api::malloc_batch(bytes, count, blocks);
    refused += made != count;
    for (size_t i = 0; i < made; i++) {
      test::require(blocks[i] != nullptr && usable_size(blocks[i]) >= bytes, "a batch", i);
      test::fill_pattern(blocks[i], bytes, i);
    }
    for (size_t i = 0; i < made; i++) {
      test::require(test::has_pattern(blocks[i], bytes, i), "contents of a batch", i);
    }
    api::free_batch(blocks, made);
  }
  for (const size_t bytes : {size_t{100}, size_t{3000}, 100 * kib}) {
    void* block = api::memalign_at(64, 16, bytes);
    refused += block == nullptr;
    if (block == nullptr) continue;
    test::require((reinterpret_cast<uintptr_t>(block) + 16) % 64 == 0, "an aligned place", bytes);
    release(block);
  }
  size_t bytes = 100;
  void* block = api::rezalloc(nullptr, bytes);
  refused += block == nullptr;
  for (const size_t wanted : {500 * kib, 3 * mib, 2 * mib + 5, 9 * mib, size_t{50}}) {
    void* resized = block == nullptr ? nullptr : api::rezalloc(block, wanted);
    refused += resized == nullptr;
    if (resized == nullptr) continue;
    block = resized;
    const size_t kept = bytes < wanted ? bytes : wanted;
    const char* fresh = static_cast<char*>(block) + kept;
    test::require(test::is_zero(fresh, usable_size(block) - kept), "new bytes are zero", wanted);
    memset(block, 0xff, wanted);
    bytes = wanted;
  }
  block = api::realloc_no_preserve(block, 1 * mib);
  refused += block == nullptr;
  release(block);
  return refused;
}

TEST(ExtendedOnABadKernel, EveryCallIsRefusedOnce) {
  for (const FakeCall kind : {FakeCall::map, FakeCall::purge, FakeCall::move_pages}) {
    const size_t row = test::row_of(kind);
    ASSERT_EQ(test::run_in_child([] { test::require(run_extended() == 0, "no fault"); }), "");
    const uint64_t calls = test::child_report().calls[row] + 1;
    const uint64_t step = divide_up(calls, uint64_t{test::rounds_of(60)});
    for (uint64_t call = 1; call <= calls; call += step) {
      for (const bool is_lasting : {false, true}) {
        const std::string wrong = test::run_in_child([=] {
          os::FakePlan& plan = os::fake_plan;
          (is_lasting ? plan.refuse_from : plan.refuse_at)[row].store_relaxed(call);
          const size_t refused = run_extended();
          test::require(kind == FakeCall::map || refused == 0, "refused without need", refused);
          test::require_quiet_heap();
          test::end_faults();
          test::require(run_extended() == 0, "refused by a kernel that is well again");
          test::require_quiet_heap();
        });
        EXPECT_EQ(wrong, "") << "kind " << row << ", call " << call << ", lasting " << is_lasting;
      }
    }
  }
}

}  // namespace
}  // namespace talus
