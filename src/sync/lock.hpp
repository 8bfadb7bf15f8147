// SPDX-License-Identifier: MIT
// sync/lock: the lock that guards all data that threads share, except lock-free words.
//
// PROTOCOL lock             word: Lock::shared_state   owner: the thread whose mark is in the word
//   state             meaning                       left by          to              order
//   free (0)          no thread is inside           locker           held            E1 acquire
//   held (mark)       inside, no thread sleeps      holder           free            E1 release
//                                                   waiting thread   contended
//   contended (| 1)   inside, a thread may sleep    holder           free+wake       E1 release
//                                                   holder, looking  held+wake
// invariants  at most one thread is inside; a sleeper implies contended, or is about to make it so;
//             the mark in the word is the holder's at every moment, also for its signal handlers.
// edges  E1 unlock.release -> lock.acquire   publishes all that was written inside
// why no ABA: the word carries no pointer.
// progress: a locking thread spins for as long as a sleep would take, unless others sleep already.
//   Then it sleeps in the kernel, so that a holder of lower priority gets the CPU (no livelock
//   under SCHED_FIFO). Unlocking is wait-free.
// fork: prepare locks every lock, the child re-makes them with reset_in_child(). A fork in a signal
//   handler that interrupted a holder leaves them as they are (process/interrupted_fork.hpp).
#ifndef TALUS_SYNC_LOCK_HPP
#define TALUS_SYNC_LOCK_HPP

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "os/os.hpp"

namespace talus::core {

// The analysis sees what the calls do to a lock, not how the word says it.
class TALUS_CAPABILITY("lock") Lock {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  constexpr Lock() noexcept = default;

  TALUS_FAST bool try_lock() noexcept TALUS_TRY_ACQUIRE(true) TALUS_NO_THREAD_SAFETY_ANALYSIS {
    uint32_t expected = free;
    const uint32_t held = os::System::thread_mark();
    return shared_state_.cas_acquire(expected, held);  // [E1] sees the last holder's writes
  }
  TALUS_FAST void lock() noexcept TALUS_ACQUIRE() TALUS_NO_THREAD_SAFETY_ANALYSIS {
    if (TALUS_UNLIKELY(!try_lock())) lock_slow();
  }
  TALUS_FAST void unlock() noexcept TALUS_RELEASE() TALUS_NO_THREAD_SAFETY_ANALYSIS {
    // [E1] publishes what was written inside
    if (TALUS_UNLIKELY((shared_state_.exchange_release(free) & contended) != 0)) {
      os::System::futex_wake_one(shared_state_.futex_word());
    }
  }
  // The child of a fork has one thread, which holds all locks.
  void reset_in_child() noexcept { shared_state_.store_init(free); }  // single thread
  bool is_locked() const noexcept { return shared_state_.load_hint() != free; }
  // Does the calling thread hold the lock? Exact, also in a handler that interrupted either verb.
  bool is_own() const noexcept {
    const uint32_t state = shared_state_.load_own();  // others do not write this mark
    return (state & ~contended) == os::System::thread_mark();
  }
  // Does another thread wait for the lock, which the calling thread holds? A thread that just came
  // is seen later. A thread that waited itself finds the lock contended even if the others have
  // gone. So this wakes a sleeper, which sets the bit again.
  bool is_awaited() noexcept {
    const uint32_t held = os::System::thread_mark();
    uint32_t expected = held | contended;
    if (!shared_state_.cas_acquire(expected, held)) return false;
    os::System::futex_wake_one(shared_state_.futex_word());
    return true;
  }

 private:
  static constexpr uint32_t free = 0, contended = 1;
  // 10 to 25 microseconds, about the time to sleep and be woken. So waiting costs at most twice the
  // minimum.
  static constexpr int spins_max = 500;

  TALUS_COLD void lock_slow() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    for (int spin = 0; spin < spins_max; spin++) {
      arch::pause();
      const uint32_t state = shared_state_.load_hint();  // try_lock() decides
      if ((state & contended) != 0) break;  // others have waited longer: the holder may be asleep
      if (state == free && try_lock()) return;
    }
    const uint32_t locked = os::System::thread_mark() | contended;
    uint32_t state = shared_state_.load_hint();  // a CAS decides
    for (;;) {
      if (state == free) {
        if (shared_state_.cas_acquire(state, locked)) return;  // [E1] as in try_lock
      } else if ((state & contended) != 0 || shared_state_.cas_acquire(state, state | contended)) {
        os::System::futex_wait(shared_state_.futex_word(), state | contended);
        state = shared_state_.load_hint();
      }
    }
  }

  Atomic<uint32_t> shared_state_;
};

}  // namespace talus::core

#endif  // TALUS_SYNC_LOCK_HPP
