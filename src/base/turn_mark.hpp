// SPDX-License-Identifier: MIT
// base/turn_mark: the extreme of a quantity over a while.
//
// Owns: the least or the largest value of a quantity in this turn and the last four turns of a
// clock that the caller turns. Invariant: all zero at the start. Called on: a thread that holds the
// lock of the quantity. Must not know: what is counted, what time it is, and which extreme is asked
// for.
#ifndef TALUS_BASE_TURN_MARK_HPP
#define TALUS_BASE_TURN_MARK_HPP

#include <cstddef>

#include "base/check.hpp"

namespace talus::core {

// `Choice::of(one, other)` is the more extreme value.
template <typename Choice>
class TurnMark {
 public:
  static constexpr unsigned turns_kept = 4;

  // The quantity is `value` now.
  void note(size_t value) noexcept { now_ = Choice::of(now_, value); }
  // The extreme since the last turn ended.
  size_t of_this_turn() const noexcept { return now_; }
  // Ends a turn; the quantity is `value` now.
  void turn(size_t value) noexcept {
    note(value);
    TALUS_ASSERT(next_ < turns_kept && Choice::of(now_, value) == now_);
    closed_[next_] = now_;
    next_ = (next_ + 1) % turns_kept;
    now_ = value;
  }

 protected:
  size_t extreme() const noexcept {
    size_t chosen = now_;
    for (const size_t closed : closed_) chosen = Choice::of(chosen, closed);
    return chosen;
  }

  size_t now_ = 0;
  size_t closed_[turns_kept] = {};

 private:
  unsigned next_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_BASE_TURN_MARK_HPP
