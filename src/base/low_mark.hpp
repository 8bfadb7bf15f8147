// SPDX-License-Identifier: MIT
// base/low_mark: how much of a stock nobody needed for a while.
//
// Owns: the least value that a quantity of free bytes had, over the last four turns of a clock
// (base/turn_mark.hpp). What is free and was free at the worst moment of that time is surplus: it
// can be given away without anybody's noticing, and what is being reused never is surplus.
// Invariant: all zero at the start, so nothing is surplus before four turns have passed. Called on:
// whoever holds the lock of the stock. Must not know: what is counted, and what time it is.
#ifndef TALUS_BASE_LOW_MARK_HPP
#define TALUS_BASE_LOW_MARK_HPP

#include "base/turn_mark.hpp"

namespace talus {

struct Lesser {
  static constexpr size_t of(size_t one, size_t other) noexcept {
    return one < other ? one : other;
  }
};

class LowMark : public TurnMark<Lesser> {
 public:
  // Ends a turn; the stock is `value` now. Returns the least it was in the last four turns.
  size_t turn(size_t value) noexcept {
    TurnMark::turn(value);
    return surplus();
  }
  // That much of the surplus was given away.
  void subtract_purged(size_t bytes) noexcept {
    now_ = less(now_, bytes);
    for (size_t& least : closed_) least = less(least, bytes);
  }
  size_t surplus() const noexcept { return extreme(); }

 private:
  static size_t less(size_t value, size_t bytes) noexcept {
    return value > bytes ? value - bytes : 0;
  }
};

}  // namespace talus

#endif  // TALUS_BASE_LOW_MARK_HPP
