// SPDX-License-Identifier: MIT
// tests/unit/process/fork_locks: a fork unlocks what it locked, while others change the lists.
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "api/bounded.hpp"
#include "effort.hpp"
#include "entry/life.hpp"
#include "process/fork.hpp"

namespace talus::core {
namespace {

talus_bounded* make_pools(size_t pools) {
  const talus_bounded_options options{pools, 4096, nullptr, nullptr, 0};
  talus_bounded* made = api::bounded_new(&options);
  EXPECT_NE(made, nullptr);
  return made;
}

// Locks that some thread holds, also those of instances that ended.
size_t count_locked() {
  size_t locked = 0;
  for_each_fork_lock([&](auto& lock) { locked += lock.is_locked(); });
  for (const Bounded* instance : bounded_registry.instances) {
    if (instance == nullptr || instance->is_alive()) continue;
    for (const Pool& pool : instance->pools) locked += pool.lock.is_locked();
  }
  return locked;
}

// The ranks of the locks in the order of a walk, and where the locks are.
struct Seen {
  std::vector<LockRank> ranks;
  std::set<const void*> places;

  template <LockRank rank>
  void operator()(const RankedLock<rank>& lock) {
    ranks.push_back(rank);
    EXPECT_TRUE(places.insert(&lock).second) << "twice: a lock of " << name_of(rank);
  }
};

TEST(ForkLocks, BothDirectionsMeetTheSameLocks) {
  process_starts();
  talus_bounded* instance = make_pools(5);
  Seen forwards, backwards;
  for_each_fork_lock([&](auto& lock) { forwards(lock); });
  for_each_fork_lock_backwards([&](auto& lock) { backwards(lock); });
  EXPECT_EQ(forwards.places, backwards.places);
  EXPECT_TRUE(std::is_sorted(forwards.ranks.begin(), forwards.ranks.end()));
  EXPECT_TRUE(std::is_sorted(backwards.ranks.rbegin(), backwards.ranks.rend()));
  EXPECT_EQ(std::count(forwards.ranks.begin(), forwards.ranks.end(), LockRank::pool), 5);
  // Those that guard the list of others.
  for (const LockRank rank : {LockRank::registry, LockRank::bounded_registry, LockRank::space}) {
    EXPECT_EQ(std::count(forwards.ranks.begin(), forwards.ranks.end(), rank), 1);
  }
  api::bounded_destroy(instance);
}

// A thread that waits for the list of instances ends one as soon as the fork unlocks the list.
TEST(ForkLocks, AnInstanceEndsAsSoonAsTheListIsUnlocked) {
  process_starts();
  talus_bounded* handle = make_pools(small_class_count);
  const Bounded& instance = api::bounded_in(handle);
  {
    const LocksOfOneRank in_order;
    for_each_fork_lock([](auto& lock) { lock.lock(); });
  }
  std::thread other{[handle] { api::bounded_destroy(handle); }};
  for_each_fork_lock_backwards([&](auto& lock) {
    lock.unlock();
    if (&lock == static_cast<Lock*>(&bounded_registry.lock)) other.join();
  });
  EXPECT_FALSE(instance.is_alive());
  EXPECT_EQ(count_locked(), 0u);
}

// needs N10: an instance ends, and another begins in its place, between the unlocks of a fork.
TEST(ForkLocks, InstancesEndAndBeginBesideForks) {
  if (test::under_tsan) GTEST_SKIP() << "it ignores what handlers read only in a real fork";
  process_starts();
  constexpr size_t instance_count = 40;
  std::vector<talus_bounded*> instances;
  for (size_t i = 0; i < instance_count; i++) instances.push_back(make_pools(small_class_count));
  Atomic<bool> stop;
  std::thread other{[&] {
    for (size_t turn = 0; !stop.load_relaxed(); turn++) {
      talus_bounded*& instance = instances[instance_count - 1 - turn % 4];
      api::bounded_destroy(instance);
      instance = make_pools(turn % 8 < 4 ? small_class_count : 1);
    }
  }};
  const size_t rounds = test::rounds_of(3000);
  for (size_t round = 0; round < rounds; round++) {
    before_fork();
    after_fork_in_parent();
    sched_yield();
  }
  stop.store_relaxed(true);
  other.join();
  EXPECT_EQ(count_locked(), 0u);
  for (talus_bounded* instance : instances) api::bounded_destroy(instance);
}

}  // namespace
}  // namespace talus::core
