// SPDX-License-Identifier: MIT
// sync/ranked_lock: one type for each kind of lock, and the proof that a thread holds one.
//
// A function that needs a lock takes a parameter `Held<SpaceLock>&`. So the proof of another lock
// does not compile. Owns: RankedLock, Held, the names of the types. Invariant: a type of lock has
// one rank (sync/lock_rank.hpp). Called on: any thread.
#ifndef TALUS_SYNC_RANKED_LOCK_HPP
#define TALUS_SYNC_RANKED_LOCK_HPP

#include "base/base.hpp"
#include "sync/lock.hpp"
#include "sync/lock_rank.hpp"

namespace talus::core {

template <LockRank rank_of_type>
class RankedLock : public Lock {
 public:
  static constexpr LockRank rank = rank_of_type;
};

using HelperPassLock = RankedLock<LockRank::helper_pass>;
using HelperLock = RankedLock<LockRank::helper>;
using DecayingLock = RankedLock<LockRank::decaying>;
using ThreadEndLock = RankedLock<LockRank::thread_end>;
using RegistryLock = RankedLock<LockRank::registry>;
using IdleProbeLock = RankedLock<LockRank::idle_probe>;
using HeapLock = RankedLock<LockRank::heap>;
using BoundedRegistryLock = RankedLock<LockRank::bounded_registry>;
using PoolLock = RankedLock<LockRank::pool>;
using SpaceLock = RankedLock<LockRank::space>;
using FileStoresLock = RankedLock<LockRank::file_stores>;
using FileStoreLock = RankedLock<LockRank::file_store>;
using PrinterLock = RankedLock<LockRank::printer>;

// Holds a lock, and proves it to the functions that need it.
template <typename LockType>
class [[nodiscard]] Held {
 public:
  TALUS_FAST explicit Held(LockType& lock) noexcept : lock_{lock} { lock_.lock(); }
  TALUS_FAST ~Held() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // For calls into the kernel in the middle of a longer piece of work.
  void unlock_for_a_while() noexcept { lock_.unlock(); }
  void lock_again() noexcept { lock_.lock(); }

 private:
  LockType& lock_;
};

}  // namespace talus::core

#endif  // TALUS_SYNC_RANKED_LOCK_HPP
