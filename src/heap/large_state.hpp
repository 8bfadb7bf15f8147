// SPDX-License-Identifier: MIT
// heap/large_state: where a large block is, one word a descriptor.
//
// The word is LargeBlock::state:
//   state     entered by                            left by                              order
//   unused    the thread that returns the range     a thread that takes one              release
//   live      a thread that allocates               claim()                              acq_rel
//   kept      the thread that frees                 that thread: allocates, or returns the range
//   changing  the thread that resizes or returns    that thread, which made it           release
// invariants  one thread at a time has a block that is kept or changing. A descriptor leaves and
//             enters `unused` under the space lock, so that a claim under it is about the block
//             that the caller looked up.
// begin() publishes where the block lies to a look-up that loads with acquire.
// Where a claim is made without the space lock, another thread may have returned the range of a
// block that was freed twice. Then the claim may be about the next block of the descriptor. So a
// thread that keeps a block proves its place after the claim, and gives another block back. Modes
// that check keep a BlockState beside this word, whose claim is proven, too.
// lifetime: descriptors are never freed.
// model: tests/model/large_states
#ifndef TALUS_HEAP_LARGE_STATE_HPP
#define TALUS_HEAP_LARGE_STATE_HPP

#include "base/base.hpp"

namespace talus::core {

struct LargeState {
  static constexpr uint8_t unused = 0;
  static constexpr uint8_t live = 1;
  static constexpr uint8_t kept = 2;
  static constexpr uint8_t changing = 3;

  // The descriptor describes a block from here on.
  TALUS_FAST static void begin(Atomic<uint8_t>& state) noexcept { state.store_release(live); }
  // The program loses the block. False: another thread freed it, or resizes it, at this moment.
  [[nodiscard]] TALUS_FAST static bool claim(Atomic<uint8_t>& state, uint8_t entered) noexcept {
    uint8_t expected = live;
    return state.cas_acq_rel(expected, entered);
  }
  // The thread that kept the block gives it to the program.
  TALUS_FAST static void reuse(Atomic<uint8_t>& state) noexcept { state.store_own(live); }
  // The program has the block again that a call resized.
  TALUS_FAST static void end_change(Atomic<uint8_t>& state) noexcept { state.store_release(live); }
  // The range goes back.
  TALUS_FAST static void end(Atomic<uint8_t>& state) noexcept { state.store_release(unused); }
};

}  // namespace talus::core

#endif  // TALUS_HEAP_LARGE_STATE_HPP
