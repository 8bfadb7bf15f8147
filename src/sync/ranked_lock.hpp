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

// In release builds no more than a Lock. A signal handler finds either the lock or the count of its
// thread first; it waits for no lock then (process/interrupted_fork.hpp).
template <LockRank RankOfType>
class TALUS_CAPABILITY("lock") RankedLock : public Lock {
 public:
  static constexpr LockRank rank = RankOfType;

  TALUS_FAST bool try_lock() noexcept TALUS_TRY_ACQUIRE(true) {
    if (!Lock::try_lock()) return false;
    note_locked(rank);
    return true;
  }
  TALUS_FAST void lock() noexcept TALUS_ACQUIRE() {
    check_rank(rank);
    Lock::lock();
    note_locked(rank);
  }
  TALUS_FAST void unlock() noexcept TALUS_RELEASE() {
    TALUS_ASSERT(this->is_own());
    note_unlocked(rank);
    Lock::unlock();
  }
  // The child's thread may hold the lock or not.
  void reset_in_child() noexcept {
    if constexpr (TALUS_AUDIT != 0) {
      if (this->is_own()) note_unlocked(rank);
    }
    Lock::reset_in_child();
  }
};

using PrinterLock = RankedLock<LockRank::printer>;
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

// Holds a lock, and proves it to the functions that need it.
template <typename LockType>
class [[nodiscard]] TALUS_SCOPED_CAPABILITY Held {
 public:
  TALUS_FAST explicit Held(LockType& lock) noexcept TALUS_ACQUIRE(lock) : lock_{lock} {
    lock_.lock();
  }
  TALUS_FAST ~Held() TALUS_RELEASE() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // For calls into the kernel in the middle of a longer piece of work.
  void unlock_for_a_while() noexcept TALUS_RELEASE() { lock_.unlock(); }
  void lock_again() noexcept TALUS_ACQUIRE() { lock_.lock(); }

 private:
  LockType& lock_;
};

}  // namespace talus::core

#endif  // TALUS_SYNC_RANKED_LOCK_HPP
