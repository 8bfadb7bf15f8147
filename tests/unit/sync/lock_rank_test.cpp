// SPDX-License-Identifier: MIT
// tests/unit/sync/lock_rank: the order of locks, which audit builds check, and the types of proofs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <thread>
#include <type_traits>

#include "sync/ranked_lock.hpp"

namespace talus::core {
namespace {

struct Locks {
  RegistryLock registry;
  HeapLock heap, other_heap;
  SpaceLock space;
};

// True: audit builds notice the step. Other builds do it without a word.
template <typename Step>
bool is_refused(Step step, const char* message) {
#if TALUS_AUDIT
  EXPECT_EXIT((step(), _exit(0)), testing::KilledBySignal(SIGABRT), message);
#else
  EXPECT_EXIT((step(), _exit(0)), testing::ExitedWithCode(0), "");
  static_cast<void>(message);
#endif
  return !testing::Test::HasFailure();
}

TEST(LockRankDeathTest, AWrongOrderIsRefusedAndNamesBothRanks) {
  Locks locks;
  const auto wrong = [&] {
    Held space_held{locks.space};
    Held heap_held{locks.heap};
  };
  EXPECT_TRUE(is_refused(wrong, "a thread that holds 'space' waits for 'heap'"));
}

TEST(LockRankDeathTest, ALockThatWasOnlyTriedCounts) {
  Locks locks;
  const auto wrong = [&] {
    if (locks.space.try_lock()) Held registry_held{locks.registry};
  };
  EXPECT_TRUE(is_refused(wrong, "a thread that holds 'space' waits for 'registry'"));
}

TEST(LockRankDeathTest, ASecondLockOfARankNeedsAnOrder) {
  Locks locks;
  const auto wrong = [&] {
    Held held{locks.heap};
    Held other_held{locks.other_heap};
  };
  EXPECT_TRUE(is_refused(wrong, "a thread that holds 'heap' waits for 'heap'"));
}

TEST(LockRankDeathTest, ALockIsRefusedAgainAfterItsThreadLocksAgain) {
  Locks locks;
  const auto wrong = [&] {
    Held heap_held{locks.heap};
    heap_held.unlock_for_a_while();
    Held space_held{locks.space};
    heap_held.lock_again();
  };
  EXPECT_TRUE(is_refused(wrong, "a thread that holds 'space' waits for 'heap'"));
}

TEST(LockRank, WhatTheOrderAllows) {
  Locks locks;
  {
    Held registry_held{locks.registry};
    Held heap_held{locks.heap};
    ASSERT_TRUE(locks.other_heap.try_lock());  // waits for no thread
    Held space_held{locks.space};
    locks.other_heap.unlock();
  }
  {
    const LocksOfOneRank in_order;
    Held heap_held{locks.heap};
    Held other_held{locks.other_heap};
  }
  Held space_held{locks.space};
  // Each thread has ranks of its own.
  std::thread{[&] { Held heap_held{locks.heap}; }}.join();
}

TEST(LockRankDeathTest, TheChildOfAForkHoldsNothing) {
  Locks locks;
  const auto in_child = [&] {
    locks.space.lock();
    locks.space.reset_in_child();
    Held heap_held{locks.heap};
    _exit(7);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(7), "");
}

// The proof of one lock does not serve for another.
static_assert(!std::is_convertible_v<Held<SpaceLock>&, Held<RegistryLock>&> &&
              !std::is_convertible_v<Held<HeapLock>&, Held<SpaceLock>&> &&
              !std::is_constructible_v<Held<SpaceLock>, HeapLock&>);
#if !TALUS_AUDIT
static_assert(sizeof(SpaceLock) == sizeof(Lock) && std::is_empty_v<LocksOfOneRank>);
#endif

}  // namespace
}  // namespace talus::core
