// SPDX-License-Identifier: MIT
// base/high_mark: how much of something was in use at the worst moment of late.
//
// Owns: the largest value that a quantity had over the last four turns (base/turn_mark.hpp).
// Invariant: never below the present value, if each rise is noted. Called on: whoever holds the
// lock of the quantity. Must not know: what is counted, and what time it is.
#ifndef TALUS_BASE_HIGH_MARK_HPP
#define TALUS_BASE_HIGH_MARK_HPP

#include "base/turn_mark.hpp"

namespace talus {

struct Greater {
  static constexpr size_t of(size_t one, size_t other) noexcept {
    return one > other ? one : other;
  }
};

class HighMark : public TurnMark<Greater> {
 public:
  // The most it was in this turn and the last four.
  size_t most() const noexcept { return extreme(); }
};

}  // namespace talus

#endif  // TALUS_BASE_HIGH_MARK_HPP
