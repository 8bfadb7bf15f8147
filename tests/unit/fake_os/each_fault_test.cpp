// SPDX-License-Identifier: MIT
// tests/unit/fake_os/each_fault: every call to the kernel is refused once.
//
// Owns: nothing. The sequence is run with the k-th call of one kind refused, for every k: that one
// alone, that and all later ones, and each k-th. Whatever happens, no block loses its contents,
// nothing aborts, and when the kernel is well again so is the heap. Called on: the main thread.
#include <gtest/gtest.h>

#include "effort.hpp"
#include "fake_os/sequence.hpp"

namespace talus::core {
namespace {

using os::FakeCall;
using os::FakePlan;

enum class Fault { once, lasting, repeated };
constexpr const char* fault_names[] = {"call", "call and all later", "each multiple of call"};
constexpr const char* kind_names[] = {
    "map",         "unmap",        "purge",        "move_pages",     "map_anew",
    "allow",       "decommit",     "reserve_room", "give_room_back", "map_file",
    "prefer_node", "name_mapping", "set_guards",   "lift_guards",    "order_threads"};
static_assert(sizeof kind_names / sizeof kind_names[0] == test::call_kinds, "a name for each");

void plan_fault(FakeCall kind, Fault fault, uint64_t call) {
  FakePlan& plan = os::fake_plan;
  const size_t row = test::row_of(kind);
  switch (fault) {
    case Fault::once:
      return plan.refuse_at[row].store_relaxed(call);
    case Fault::lasting:
      return plan.refuse_from[row].store_relaxed(call);
    case Fault::repeated:
      return plan.refuse_every[row].store_relaxed(call);
  }
}

// Addresses that are no multiples of an arena's alignment, so that something has to be unmapped.
// The kernel's own might happen to be aligned, and AddressSanitizer has its shadow at 2^38.
void use_crooked_addresses() {
  const uint64_t base = uint64_t{1} << (test::under_asan ? 45 : 38);
  os::fake_plan.map_base.store_relaxed(base + slice_bytes);
}

// In the child: the sequence under the fault, and again without.
void run_under_fault(FakeCall kind, Fault fault, uint64_t call) {
  if (kind == FakeCall::unmap) use_crooked_addresses();
  plan_fault(kind, fault, call);
  test::child_report().refused_count = test::run_sequence();
  test::require_quiet_heap();
  test::end_faults();
  const size_t refused = test::run_sequence();
  test::require(refused == 0, "allocations refused by a kernel that is well again", refused);
  test::require_quiet_heap();
  test::require(os::fake_plan.misaligned_calls.load_relaxed() == 0, "misaligned calls");
}

// Calls of each kind in the sequence when nothing fails.
void count_calls(FakeCall kind, uint64_t (&calls)[test::call_kinds]) {
  const std::string wrong = test::run_in_child([kind] {
    if (kind == FakeCall::unmap) use_crooked_addresses();
    const size_t refused = test::run_sequence();
    test::require(refused == 0, "allocations refused without a fault", refused);
    test::require_quiet_heap();
  });
  ASSERT_EQ(wrong, "");
  for (size_t row = 0; row < test::call_kinds; row++) {
    calls[row] = test::child_report().calls[row];
  }
}

// Runs all cases of a kind. Where code is slow, only some of the calls.
void fail_each_call(FakeCall kind) {
  const size_t row = test::row_of(kind);
  uint64_t calls[test::call_kinds] = {};
  count_calls(kind, calls);
  ASSERT_GT(calls[row], 0u) << "the sequence makes no such call, so nothing is tested";
  // Two threads at once may need a few calls more than they did this time.
  const uint64_t last = calls[row] + 2;
  const uint64_t places = test::rounds_of(150);
  const uint64_t step = divide_up(last, places);
  size_t cases = 0, cases_with_refusals = 0;
  for (uint64_t call = 1; call <= last; call += step) {
    for (Fault fault : {Fault::once, Fault::lasting, Fault::repeated}) {
      const std::string wrong = test::run_in_child([&] { run_under_fault(kind, fault, call); });
      const uint64_t refused = test::child_report().refused_count;
      EXPECT_EQ(wrong, "") << kind_names[row] << ": " << fault_names[static_cast<size_t>(fault)]
                           << " " << call << " of " << calls[row];
      cases++;
      cases_with_refusals += refused != 0;
      // Only map is needed for an answer; the others are ways to need less memory or time.
      if (kind != FakeCall::map) {
        EXPECT_EQ(refused, 0u) << kind_names[row] << " " << call;
      }
      // A call that failed once is tried again in another way, or costs one allocation.
      if (fault == Fault::once) {
        EXPECT_LE(refused, 1u) << kind_names[row] << " " << call;
      }
      if (::testing::Test::HasFailure() && cases > 60) return;  // the rest says the same
    }
  }
  if (kind == FakeCall::map) {
    EXPECT_GT(cases_with_refusals, 0u) << "no fault ever reached a caller";
  }
  printf("%s: %llu calls, %zu cases, %zu of them refused an allocation\n", kind_names[row],
         static_cast<unsigned long long>(calls[row]), cases, cases_with_refusals);
}

TEST(EachFault, Map) { fail_each_call(FakeCall::map); }
TEST(EachFault, Unmap) { fail_each_call(FakeCall::unmap); }
TEST(EachFault, Purge) { fail_each_call(FakeCall::purge); }
TEST(EachFault, MovePages) { fail_each_call(FakeCall::move_pages); }
TEST(EachFault, Renew) {
  if (TALUS_COPY_ONLY != 0) GTEST_SKIP() << "nothing is moved, so nothing is mapped anew";
  fail_each_call(FakeCall::map_anew);
}

// A kernel that does nothing at all, ever: every answer is null, and null is all that happens.
TEST(EachFault, NoKernelAtAll) {
  const std::string wrong = test::run_in_child([] {
    for (size_t row = 0; row < test::call_kinds; row++) {
      os::fake_plan.refuse_from[row].store_relaxed(1);
    }
    for (size_t bytes : {size_t{0}, size_t{100}, small_bytes_max, 100 * kib, 40 * mib}) {
      test::require(allocate(bytes) == nullptr, "allocate", bytes);
      test::require(allocate_zeroed(bytes) == nullptr, "allocate_zeroed", bytes);
      test::require(allocate_aligned(4 * kib, bytes) == nullptr, "allocate_aligned", bytes);
    }
    test::on_threads(2, [](size_t) { test::require(allocate(10) == nullptr, "in a thread"); });
    test::require_quiet_heap();
    test::end_faults();
    test::require(test::run_sequence() == 0, "the sequence afterwards");
    test::require_quiet_heap();
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
