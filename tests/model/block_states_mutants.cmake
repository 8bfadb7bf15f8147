# SPDX-License-Identifier: MIT
# What the model of src/slab/block_states.hpp must notice; the form is as in
# remote_free_mutants.cmake.

# A free loads and stores, as in a process of one thread: two of them pass.
mutant(exchange_in_two_steps
[==[    const uint8_t before = state.exchange_acq_rel(BlockState::freed);]==]
[==[    const uint8_t before = state.load_own();
    state.store_own(BlockState::freed);]==])
mutant(hardened_in_two_steps
[==[    if (!state.cas_acq_rel(now, BlockState::freed)) return false;]==]
[==[    if (state.load_own() != wanted) return false;
    state.store_own(BlockState::freed);]==])
# The new thread says that there are two, instead of the one that made it.
mutant(told_late
[==[struct BlockState {]==]
[==[#define TALUS_MODEL_TOLD_LATE 1
struct BlockState {]==])

# A free leaves the state as it was.
mutant(free_not_stored
[==[    const uint8_t before = state.load_own();
    state.store_own(BlockState::freed);
]==] [==[    const uint8_t before = state.load_own();
]==])
mutant(hardened_free_not_stored
[==[    if (state.load_own() != wanted) return false;
    state.store_own(BlockState::freed);
]==] [==[    if (state.load_own() != wanted) return false;
]==])

# The slab went between the look-up and the claim.
mutant(place_not_proven_again
[==[    return is_there() ? before : BlockState::gone;]==] [==[    return before;]==])
mutant(place_proven_before
[==[    const uint8_t before = state.exchange_acq_rel(BlockState::freed);
    return is_there() ? before : BlockState::gone;]==]
[==[    if (!is_there()) return BlockState::gone;
    return state.exchange_acq_rel(BlockState::freed);]==])
mutant(hardened_place_not_proven_again
[==[    if (is_there()) return true;]==] [==[    if (is_there() || true) return true;]==])
mutant(hardened_place_not_left_as_it_was
[==[    state.cas_acq_rel(now, wanted);
]==] [==[]==])
mutant(given_not_released
[==[  state.store_release(BlockState::given);  // a]==]
[==[  state.store_own(BlockState::given);  // a]==])

# An allocation does not look, or does not store, so that the next free is refused.
mutant(given_not_stored
[==[  state.store_release(BlockState::given);  // a claim that finds it sees where the block lies
]==] [==[]==])

# A slab begins with the states of the one before it.
mutant(states_not_forgotten
[==[states[i].store_init(BlockState::untold);]==]
[==[states[i].store_init(BlockState::given);]==])

# The block can be allocated before its state says that it is freed.
mutant(stored_after_the_push
[==[struct BlockState {]==]
[==[#define TALUS_MODEL_STORED_AFTER_PUSH 1
struct BlockState {]==])
