// SPDX-License-Identifier: MIT
// base/low_mark: how much of a stock nobody needed for a while.
//
// Owns: the least value that a quantity of free bytes had, over the last four turns of a clock that
// the caller turns. What is free and was free at the worst moment of that time is surplus: it can
// be given away without anybody's noticing, and what is being reused never is surplus. Invariant:
// all zero at the start, so nothing is surplus before four turns have passed. Called on: whoever
// holds the lock of the stock. Must not know: what is counted, and what time it is.
#ifndef TALUS_BASE_LOW_MARK_HPP
#define TALUS_BASE_LOW_MARK_HPP

#include <cstddef>

namespace talus {

class LowMark {
 public:
  static constexpr unsigned turns_kept = 4;

  // The stock fell to this.
  void note(size_t value) noexcept {
    if (value < now_) now_ = value;
  }
  // Ends a turn; the stock is `value` now. Returns the least it was in the last four turns.
  size_t turn(size_t value) noexcept {
    note(value);
    least_[next_] = now_;
    next_ = (next_ + 1) % turns_kept;
    now_ = value;
    return surplus();
  }
  // That much of the surplus was given away.
  void give_away(size_t bytes) noexcept {
    now_ = less(now_, bytes);
    for (size_t& least : least_) least = less(least, bytes);
  }
  size_t surplus() const noexcept {
    size_t lowest = now_;
    for (const size_t least : least_) lowest = least < lowest ? least : lowest;
    return lowest;
  }

 private:
  static size_t less(size_t value, size_t bytes) noexcept {
    return value > bytes ? value - bytes : 0;
  }
  size_t now_ = 0;
  size_t least_[turns_kept] = {};
  unsigned next_ = 0;
};

}  // namespace talus

#endif  // TALUS_BASE_LOW_MARK_HPP
