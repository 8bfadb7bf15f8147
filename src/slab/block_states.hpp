// SPDX-License-Identifier: MIT
// slab/block_states: whether the program has a block, one byte a block beside the slab's bitmap.
//
// The bitmap tells which blocks are in the slab. The others are the program's, or wait in lists and
// messages, and nothing else tells these apart. So the checked mode keeps one state a block.
//
// state     entered by                            left by
// untold    the slab's begin                      allocation
// given     the allocating thread                 a free or a resize
// freed     the freeing thread                    allocation, the slab's end
//
// Two threads may free a block at the same instant. A thread that frees a block of another heap
// exchanges the state, so it finds what any earlier free stored. A thread that frees a block of its
// own heap only loads and stores, since an exchange costs more than the rest of free. So both may
// pass. Then two lists hold the block, or a list and a message. The first allocation stores
// `given`. The second finds `given`, and stops: no block is ever given twice. A flush may come
// first: the slab finds the block in its bitmap.
//
// Owns: the states and their transitions. Called on: any thread, without locks. Must not know:
// slabs. Invariant: of two threads that take one block out, one finds `given`; the block's way
// through a list, a message or a slab orders them.
#ifndef TALUS_SLAB_BLOCK_STATES_HPP
#define TALUS_SLAB_BLOCK_STATES_HPP

#include "base/base.hpp"

namespace talus::core {

struct BlockState {
  static constexpr uint8_t untold = 0;  // never given since the slab began
  static constexpr uint8_t freed = 1;
  static constexpr uint8_t given = 2;        // by a call of C
  static constexpr uint8_t given_one = 3;    // by operator new; only where kinds are checked
  static constexpr uint8_t given_array = 4;  // by operator new[]; likewise
  // A bit beside the others: a trailer lies behind the data (slab/contents.hpp).
  static constexpr uint8_t with_trailer = 0x40;

  TALUS_FAST static constexpr uint8_t without_trailer(uint8_t state) noexcept {
    return static_cast<uint8_t>(state & ~with_trailer);
  }
};

// Does the process keep states? Set before the first slab; slabs from before have none.
TALUS_CONSTINIT inline Atomic<bool> shared_keeps_block_states;
inline bool keeps_block_states() noexcept { return shared_keeps_block_states.load_init(); }
// May blocks of slabs with states have trailers? Set at the same time.
TALUS_CONSTINIT inline Atomic<bool> shared_keeps_trailers;
inline bool keeps_trailers() noexcept { return shared_keeps_trailers.load_init(); }

constexpr size_t state_bytes(size_t block_count) noexcept {
  return block_count * sizeof(Atomic<uint8_t>);
}
// The slab begins: no block was given.
inline void forget_states(Atomic<uint8_t>* states, size_t block_count) noexcept {
  for (size_t i = 0; i < block_count; i++) states[i].store_init(BlockState::untold);
}
// The program gets the block. False: it has the block already.
[[nodiscard]] TALUS_FAST bool mark_given(Atomic<uint8_t>& state) noexcept {
  const bool is_right = state.load_own() < BlockState::given;
  state.store_own(BlockState::given);
  return is_right;
}
// The program loses the block. Returns the state before; any but `given` is a fault. The first is
// for a block of the calling thread's heap, the second for any.
TALUS_FAST uint8_t claim_own(Atomic<uint8_t>& state) noexcept {
  const uint8_t before = state.load_own();
  state.store_own(BlockState::freed);
  return before;
}
TALUS_FAST uint8_t claim_any(Atomic<uint8_t>& state) noexcept {
  return state.exchange_acq_rel(BlockState::freed);
}

}  // namespace talus::core

#endif  // TALUS_SLAB_BLOCK_STATES_HPP
