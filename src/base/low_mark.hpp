// SPDX-License-Identifier: MIT
// base/low_mark: how much of a stock was not needed for a while.
//
// Owns: the least value of a quantity of free bytes over the last four turns of a clock
// (base/turn_mark.hpp). That much was free at all times, so it is surplus: giving it away goes
// unnoticed, and reused memory is never surplus. Invariant: all zero at the start, so nothing is
// surplus before four turns have passed. Called on: a thread that holds the lock of the stock.
// Must not know: what is counted, and what time it is.
#ifndef TALUS_BASE_LOW_MARK_HPP
#define TALUS_BASE_LOW_MARK_HPP

#include "base/check.hpp"
#include "base/turn_mark.hpp"

namespace talus::core {

struct Lesser {
  static constexpr size_t of(size_t one, size_t other) noexcept {
    return one < other ? one : other;
  }
};

class LowMark : public TurnMark<Lesser> {
 public:
  // Ends a turn; the stock is `value` now. Returns its least value of the last four turns.
  size_t turn(size_t value) noexcept {
    TurnMark::turn(value);
    TALUS_ASSERT(surplus() <= value);  // what is surplus is there
    return surplus();
  }
  // `bytes` of the surplus were given away.
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

}  // namespace talus::core

#endif  // TALUS_BASE_LOW_MARK_HPP
