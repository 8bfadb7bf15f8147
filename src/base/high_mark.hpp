// SPDX-License-Identifier: MIT
// base/high_mark: how much of something was in use at the worst moment of late.
//
// Owns: the largest value that a quantity had over the last four turns of a clock that the caller
// turns, as base/low_mark.hpp keeps the least. Invariant: never below the present value, if each
// rise is noted. Called on: whoever holds the lock of the quantity. Must not know: what is counted,
// and what time it is.
#ifndef TALUS_BASE_HIGH_MARK_HPP
#define TALUS_BASE_HIGH_MARK_HPP

#include <cstddef>

namespace talus {

class HighMark {
 public:
  static constexpr unsigned turns_kept = 4;

  // The quantity rose to this.
  void note(size_t value) noexcept {
    if (value > now_) now_ = value;
  }
  // Ends a turn; the quantity is `value` now.
  void turn(size_t value) noexcept {
    most_[next_] = now_;
    next_ = (next_ + 1) % turns_kept;
    now_ = value;
  }
  // The most it was in this turn and the last four.
  size_t most() const noexcept {
    size_t highest = now_;
    for (const size_t most : most_) highest = most > highest ? most : highest;
    return highest;
  }

 private:
  size_t now_ = 0;
  size_t most_[turns_kept] = {};
  unsigned next_ = 0;
};

}  // namespace talus

#endif  // TALUS_BASE_HIGH_MARK_HPP
