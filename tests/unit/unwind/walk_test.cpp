// SPDX-License-Identifier: MIT
// tests/unit/unwind/walk: random programs, whose stacks libgcc sees as well.
#include <gtest/gtest.h>

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <csetjmp>
#include <thread>
#include <vector>

#include "compared.hpp"
#include "effort.hpp"
#include "programs/shapes.hpp"

namespace talus::core {
namespace {

using test::Comparison;
using test::Trip;

void on_signal(int) { test::travel_in_handler(); }

// Handlers may interrupt handlers of the same signal.
struct Handling {
  explicit Handling(int flags = 0) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_NODEFER | flags;
    sigaction(SIGUSR1, &action, &before);
  }
  ~Handling() { sigaction(SIGUSR1, &before, nullptr); }
  struct sigaction before {};
};

void travel_often(Comparison& comparison, size_t trips, uint64_t seed, bool has_signals = true) {
  test::Random random{seed};
  for (size_t i = 0; i < trips; i++) {
    Trip trip;
    trip.random = random.next() | 1;
    trip.depth = 1 + random.below(30);
    trip.look = Comparison::look;
    trip.with = &comparison;
    trip.has_signals = has_signals;
    test::travel(trip);
  }
}

void expect_all(const Comparison& comparison) {
  EXPECT_GT(comparison.frames, 1000u);
  EXPECT_EQ(comparison.equal, comparison.frames)
      << comparison.share() << " of " << comparison.frames << " frames in " << comparison.walks;
  if (test::has_libc_tables) EXPECT_EQ(comparison.outermost, comparison.walks);
}

TEST(Walk, OfRandomPrograms) {
  const Handling handling;
  Comparison comparison;
  travel_often(comparison, 300, test::seed_of("Walk"));
  expect_all(comparison);
  EXPECT_EQ(test::unwinder().rules_lost(), 0u);
}

// The kernel lays another frame for these on s390x.
TEST(Walk, OfHandlersWithInformation) {
  const Handling handling(SA_SIGINFO);
  Comparison comparison;
  travel_often(comparison, 100, test::seed_of("Information"));
  expect_all(comparison);
}

TEST(Walk, OnAnAlternativeSignalStack) {
  const Handling handling(SA_ONSTACK);
  std::vector<char> memory(4 << 20);
  stack_t stack{}, before{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ASSERT_EQ(sigaltstack(&stack, &before), 0);
  Comparison comparison;
  travel_often(comparison, 100, test::seed_of("Alternative"));
  ASSERT_EQ(sigaltstack(&before, nullptr), 0);
  expect_all(comparison);
}

TEST(Walk, InManyThreads) {
  const Handling handling;
  Comparison comparison;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 6; i++) {
    threads.emplace_back([&comparison, i] { travel_often(comparison, 60, 100 + i); });
  }
  for (std::thread& thread : threads) thread.join();
  expect_all(comparison);
}

// The list of modules, as where libc finds none by address.
TEST(Walk, ByTheListOfModules) {
  unwind::Unwinder by_list;
  ASSERT_TRUE(by_list.begin({nullptr, &talus_test_list_objects}));
  const Handling handling;
  Comparison comparison;
  comparison.by = &by_list;
  travel_often(comparison, 100, test::seed_of("List"));
  by_list.end();
  expect_all(comparison);
}

// A libc that tells nothing: the walk ends where the program was called.
TEST(Walk, OfTheProgramAlone) {
  struct Alone {
    unwind::Unwinder unwinder;
    unwind::Walk walk;
  } alone;
  ASSERT_TRUE(alone.unwinder.begin({}));
  const auto look = [](void* with) {
    auto& own = *static_cast<Alone*>(with);
    uintptr_t addresses[100];
    own.walk = own.unwinder.walk(test::own_bounds(), addresses, 100);
  };
  test::dive(40, look, &alone);
  alone.unwinder.end();
  EXPECT_GT(alone.walk.frames, 42u);
  EXPECT_TRUE(alone.walk.end == unwind::WalkEnd::no_module ||
              alone.walk.end == unwind::WalkEnd::outermost);
}

TEST(Walk, EndsAtTheDepth) {
  struct Seen {
    unwind::Walk walk;
    uintptr_t addresses[65] = {};
  } seen;
  const auto look = [](void* with) {
    auto& to = *static_cast<Seen*>(with);
    to.addresses[64] = 4711;
    to.walk = test::unwinder().walk(test::own_bounds(), to.addresses, 64);
  };
  test::dive(1000, look, &seen);
  EXPECT_EQ(seen.walk.frames, 64u);
  EXPECT_EQ(seen.walk.end, unwind::WalkEnd::depth);
  EXPECT_EQ(seen.addresses[64], 4711u) << "nothing is written behind the last";
  for (size_t i = 3; i < 64; i++) ASSERT_EQ(seen.addresses[i], seen.addresses[3]) << i;
}

TEST(Walk, MakesARuleOnce) {
  const auto look = [](void*) {
    uintptr_t addresses[100];
    test::unwinder().walk(test::own_bounds(), addresses, 100);
  };
  uint64_t made[2] = {};
  for (int round = 0; round < 3; round++) {
    const uint64_t before = test::unwinder().rules_made();
    test::dive(50, look, nullptr);
    if (round > 0) made[round - 1] = test::unwinder().rules_made() - before;
  }
  EXPECT_EQ(made[0], 0u);
  EXPECT_EQ(made[1], 0u);
}

}  // namespace
}  // namespace talus::core
