// SPDX-License-Identifier: MIT
// base/high_mark: the most that was in use at once lately.
//
// Owns: the largest value of a quantity over the last four turns (base/turn_mark.hpp). Invariant:
// never below the present value, if each rise is noted. Called on: a thread that holds the lock of
// the quantity. Must not know: what is counted, and what time it is.
#ifndef TALUS_BASE_HIGH_MARK_HPP
#define TALUS_BASE_HIGH_MARK_HPP

#include "base/turn_mark.hpp"

namespace talus::core {

struct Greater {
  static constexpr size_t of(size_t one, size_t other) noexcept {
    return one > other ? one : other;
  }
};

class HighMark : public TurnMark<Greater> {
 public:
  // The largest value in this turn and the last four.
  size_t most() const noexcept { return extreme(); }
};

}  // namespace talus::core

#endif  // TALUS_BASE_HIGH_MARK_HPP
