// SPDX-License-Identifier: MIT
// heap/thread_order: which asks of the helper are ordered by a barrier of the kernel.
//
// The idle-cache reclaim protocol (cache/idle_caches.hpp) stores and then loads on two processors.
// Where the kernel has a barrier for all threads (os/order_calls.hpp) the helper makes one between
// its stores and its loads; elsewhere the time that passes between the two has to do.
// Owns: the number of the barrier that comes next. An ask carries this number; a barrier with this
// number or a later one came after the ask. Invariant: asks and barriers that are compared are of
// the helper, in its program's order; who else asks carries no number.
// Called on: the helper; covers() on any thread.
#ifndef TALUS_HEAP_THREAD_ORDER_HPP
#define TALUS_HEAP_THREAD_ORDER_HPP

#include "os/os.hpp"

namespace talus {

class ThreadOrder {
 public:
  static constexpr uint64_t never = ~uint64_t{0};  // the ask of a thread that makes no barrier
  static constexpr uint64_t none = 0;              // no barrier was made

  // What an ask of the helper carries.
  uint64_t next() const noexcept { return next_; }
  // Makes a barrier if one is allowed, and an ask has come since the last. Returns its number.
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
  uint64_t next_ = none + 1;  // the helper's, and after it has ended its successor's
  bool has_asked_ = false;    // the same
};
inline ThreadOrder thread_order;

}  // namespace talus

#endif  // TALUS_HEAP_THREAD_ORDER_HPP
