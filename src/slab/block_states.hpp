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
// Two threads may free a block at the same instant. A free exchanges the state, so one of them
// finds what the other stored, and stops. Where the process has one thread, a free only loads and
// stores: an exchange costs more than the rest of free. The thread that makes the second one knows
// of it before (os/contract.hpp: has_one_thread).
//
// A free looks the block up without a lock. If it is a second one, the slab may end and begin
// elsewhere in between. So the place is proven again after the claim: once claimed, a block that
// the program had cannot leave its place.
//
// Large blocks have one state each, under the same protocol.
//
// Owns: the states and their transitions. Called on: any thread, without locks. Must not know:
// slabs. Invariant: of all frees of a block between two allocations, one finds `given`. So no block
// is in two places, and the program gets none twice.
// model: tests/model/block_states, tests/model/large_states
#ifndef TALUS_SLAB_BLOCK_STATES_HPP
#define TALUS_SLAB_BLOCK_STATES_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

struct BlockState {
  static constexpr uint8_t untold = 0;  // never given since the slab began
  static constexpr uint8_t freed = 1;
  static constexpr uint8_t given = 2;        // by a call of C
  static constexpr uint8_t given_one = 3;    // by operator new; only where kinds are checked
  static constexpr uint8_t given_array = 4;  // by operator new[]; likewise
  // A bit beside the others: a trailer lies behind the data (slab/contents.hpp).
  static constexpr uint8_t with_trailer = 0x40;
  // The answer to a claim, and no state: the place was another block's by then.
  static constexpr uint8_t gone = 0x80;

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
  state.store_release(BlockState::given);  // a claim that finds it sees where the block lies
  return is_right;
}
// The program loses a block. `if` returns the state before; any but `given` is a fault. `only`
// claims a block in the state `wanted`; false: nothing changed. is_there() tells whether the state
// is still that of the block, which the caller looked up without a lock.
// In a process of one thread:
struct ClaimAlone {
  template <typename IsThere>
  TALUS_FAST static uint8_t claim_if(Atomic<uint8_t>& state, IsThere) noexcept {
    const uint8_t before = state.load_own();
    state.store_own(BlockState::freed);
    return before;
  }
  template <typename IsThere>
  TALUS_FAST static bool claim_only(Atomic<uint8_t>& state, uint8_t wanted, IsThere) noexcept {
    if (state.load_own() != wanted) return false;
    state.store_own(BlockState::freed);
    return true;
  }
};
// In any process:
struct ClaimBeside {
  template <typename IsThere>
  TALUS_FAST static uint8_t claim_if(Atomic<uint8_t>& state, IsThere is_there) noexcept {
    const uint8_t before = state.exchange_acq_rel(BlockState::freed);
    return is_there() ? before : BlockState::gone;
  }
  template <typename IsThere>
  TALUS_FAST static bool claim_only(Atomic<uint8_t>& state, uint8_t wanted,
                                    IsThere is_there) noexcept {
    uint8_t now = wanted;
    if (!state.cas_acq_rel(now, BlockState::freed)) return false;
    if (is_there()) return true;
    now = BlockState::freed;
    state.cas_acq_rel(now, wanted);
    return false;
  }
};
// Slow paths ask which of them it is.
template <typename IsThere>
TALUS_FAST uint8_t claim_if(Atomic<uint8_t>& state, IsThere is_there) noexcept {
  return os::System::has_one_thread() ? ClaimAlone::claim_if(state, is_there)
                                      : ClaimBeside::claim_if(state, is_there);
}
template <typename IsThere>
TALUS_FAST bool claim_only(Atomic<uint8_t>& state, uint8_t wanted, IsThere is_there) noexcept {
  return os::System::has_one_thread() ? ClaimAlone::claim_only(state, wanted, is_there)
                                      : ClaimBeside::claim_only(state, wanted, is_there);
}
// The block cannot be another one.
inline uint8_t claim_state(Atomic<uint8_t>& state) noexcept {
  return claim_if(state, []() noexcept { return true; });
}

}  // namespace talus::core

#endif  // TALUS_SLAB_BLOCK_STATES_HPP
