// SPDX-License-Identifier: MIT
// tests/unit/sync/lock: mutual exclusion, sleeping, and a fresh start in a forked child.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "effort.hpp"
#include "sync/ranked_lock.hpp"

namespace talus::core {
namespace {

TEST(Lock, OneThreadAtATime) {
  Lock lock;
  uint64_t plain_sum = 0;  // only the lock protects it; ThreadSanitizer looks at it too
  Atomic<uint32_t> inside;
  Atomic<uint32_t> intruders;
  const size_t rounds = test::rounds_of(200000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, rounds] {
      for (size_t round = 0; round < rounds; round++) {
        Held held{lock};
        if (inside.fetch_add_relaxed(1) != 0) intruders.fetch_add_relaxed(1);
        plain_sum++;
        // Every now and then the holder loses its processor, so that the others must sleep.
        if (round % 997 == 0) sched_yield();
        inside.fetch_sub_relaxed(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plain_sum, 4 * rounds);
  EXPECT_EQ(intruders.load_relaxed(), 0u);
  EXPECT_FALSE(lock.is_locked());
}

TEST(Lock, TryLockRefusesWhenLocked) {
  Lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_TRUE(lock.is_locked());
  std::thread{[&lock] { EXPECT_FALSE(lock.try_lock()); }}.join();
  lock.unlock();
  EXPECT_FALSE(lock.is_locked());
}

TEST(Lock, SleeperIsWoken) {
  Lock lock;
  for (int round = 0; round < 20; round++) {
    Atomic<bool> arrived;
    lock.lock();
    std::thread sleeper{[&] {
      Held held{lock};
      arrived.store_release(true);
    }};
    usleep(2000);  // long enough to give up spinning and sleep in the kernel
    EXPECT_FALSE(arrived.load_acquire());
    lock.unlock();
    sleeper.join();  // hangs, and CTest says so, if the sleeper was forgotten
    EXPECT_TRUE(arrived.load_acquire());
  }
}

TEST(Lock, UnlockingForAWhileLetsOthersIn) {
  Lock lock;
  Held held{lock};
  held.unlock_for_a_while();
  std::thread{[&lock] { Held other{lock}; }}.join();
  held.lock_again();
  EXPECT_TRUE(lock.is_locked());
}

TEST(Lock, ChildStartsAnew) {
  Lock lock;
  lock.lock();
  const pid_t child = fork();
  if (child == 0) {
    lock.reset_in_child();
    _exit(!lock.is_locked() && lock.try_lock() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  lock.unlock();
}

}  // namespace
}  // namespace talus::core
