// SPDX-License-Identifier: MIT
// tests/unit/fake_os/thread_order: the barrier for all threads, made or refused.
//
// Owns: nothing. Called on: the main thread of a child, because a process asks for good whether the
// kernel may be called.
#include <gtest/gtest.h>

#include "fake_os/sequence.hpp"
#include "reclaim/decay.hpp"

namespace talus::core {
namespace {

using os::FakeCall;

uint64_t barriers() {
  return os::fake_plan.calls[test::row_of(FakeCall::order_threads)].load_relaxed();
}
void allow() {
  rare_calls.ask_when_needed([]() noexcept { return true; });
}

TEST(ThreadOrder, ABarrierComesAfterAnAskAndCoversIt) {
  ASSERT_EQ(test::run_in_child([] {
              allow();
              ThreadOrder order;
              test::require(order.order() == ThreadOrder::none, "no ask, no barrier", 0);
              test::require(barriers() == 0, "no call of the kernel", barriers());
              const uint64_t first = order.next();
              order.note_asked();
              const uint64_t made = order.order();
              test::require(made != ThreadOrder::none, "a barrier", made);
              test::require(barriers() == 1, "one call of the kernel", barriers());
              test::require(ThreadOrder::covers(made, first), "the ask is covered", first);
              test::require(!ThreadOrder::covers(made, order.next()), "a later ask is not", made);
              test::require(!ThreadOrder::covers(made, ThreadOrder::never),
                            "another thread's is not", made);
              test::require(order.order() == ThreadOrder::none, "none without a further ask", 0);
            }),
            "");
}

TEST(ThreadOrder, WhereItIsForbiddenTheKernelIsNotAsked) {
  ASSERT_EQ(test::run_in_child([] {
              rare_calls.ask_when_needed([]() noexcept { return false; });
              ThreadOrder order;
              order.note_asked();
              test::require(order.order() == ThreadOrder::none, "no barrier", 0);
              test::require(barriers() == 0, "no call of the kernel", barriers());
            }),
            "");
}

TEST(ThreadOrder, WhereItIsRefusedTimeOrders) {
  ASSERT_EQ(test::run_in_child([] {
              allow();
              os::fake_plan.refuse_every[test::row_of(FakeCall::order_threads)].store_relaxed(1);
              ThreadOrder order;
              const uint64_t asked = order.next();
              order.note_asked();
              const uint64_t made = order.order();
              test::require(made == ThreadOrder::none, "no barrier", made);
              IdleProbe idle_probe;
              idle_probe.asked_before = asked;
              idle_probe.asked_ns = os::System::now_ns();
              test::require(!is_ordered(idle_probe, made), "asked just now", 0);
              idle_probe.asked_ns -= idle_probe_wait_us * 1000;
              test::require(is_ordered(idle_probe, made), "asked long ago", 0);
              test::end_faults();
            }),
            "");
}

// The passes of the helper make one barrier after asks, and none while all threads are away.
TEST(ThreadOrder, PassesMakeOneWhereAThreadWasAsked) {
  ASSERT_EQ(test::run_in_child([] {
              allow();
              free_block(allocate(100));
              DecayTally tally;
              for (int pass = 0; pass < 2; pass++) decay_caches(tally);  // looks, asks
              test::require(barriers() == 0, "no thread was asked before", barriers());
              decay_caches(tally);
              test::require(barriers() == 1, "one for the ask", barriers());
              for (int pass = 0; pass < 3; pass++) decay_caches(tally);
              test::require(barriers() == 1, "the thread is away", barriers());
              free_block(allocate(100));
              test::require_quiet_heap();
            }),
            "");
}

}  // namespace
}  // namespace talus::core
