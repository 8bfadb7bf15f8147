// SPDX-License-Identifier: MIT
// heap/thread_order: which asks of the background thread a barrier of the kernel orders.
//
// The idle-cache reclaim protocol (cache/idle_caches.hpp) stores and then loads on two processors.
// Some kernels have a barrier for all threads (os/contract.hpp). There the background thread
// makes one between its stores and its loads; elsewhere the time between the two must suffice.
// Owns: the number of the next barrier. An ask carries this number. A barrier with this number or a
// later one came after the ask. Invariant: only asks and barriers of the background thread are
// compared, in its program order. Asks of other threads carry no number.
// Called on: the background thread; covers() on any thread.
#ifndef TALUS_HEAP_THREAD_ORDER_HPP
#define TALUS_HEAP_THREAD_ORDER_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

class ThreadOrder {
 public:
  static constexpr uint64_t never = ~uint64_t{0};  // the ask of a thread that makes no barrier
  static constexpr uint64_t none = 0;              // no barrier was made

  // The number that an ask of the background thread carries.
  uint64_t next() const noexcept { return next_; }
  // Makes a barrier if one is allowed and an ask has come since the last. Returns its number.
  TALUS_USUAL uint64_t order() noexcept {
    if (!has_asked_) return none;
    has_asked_ = false;
    if (!rare_calls.are_allowed() || !os::System::order_threads()) return none;
    return next_++;
  }
  void note_asked() noexcept { has_asked_ = true; }

  // Did the barrier with the number `made` come after the ask?
  static bool covers(uint64_t made, uint64_t asked) noexcept {
    return made != none && asked <= made;
  }

 private:
  uint64_t next_ = none + 1;  // the background thread's, then its successor's
  bool has_asked_ = false;    // the same
};
TALUS_CONSTINIT inline ThreadOrder thread_order;

}  // namespace talus::core

#endif  // TALUS_HEAP_THREAD_ORDER_HPP
