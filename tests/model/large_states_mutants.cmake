# SPDX-License-Identifier: MIT
# What the model of src/heap/large_state.hpp must notice; the form is as in
# remote_free_mutants.cmake.

# Two threads claim the block.
mutant(claim_in_two_steps
[==[    return state.cas_acq_rel(expected, entered);]==]
[==[    if (state.load_acquire() != expected) return false;
    state.store_release(entered);
    return true;]==])
# A block that a thread keeps, or that another one resizes, is claimed too.
mutant(claim_of_any_state
[==[    return state.cas_acq_rel(expected, entered);]==]
[==[    expected = state.load_acquire();
    return state.cas_acq_rel(expected, entered);]==])
mutant(claim_stores_nothing
[==[    return state.cas_acq_rel(expected, entered);]==]
[==[    return state.load_acquire() == expected;]==])

# States that nothing leaves.
mutant(change_not_ended
[==[state.store_release(live); }
  // The range]==] [==[(void)state; }
  // The range]==])
mutant(reuse_not_stored
[==[state.store_own(live); }]==] [==[(void)state; }]==])
mutant(range_returned_and_live
[==[state.store_release(unused); }]==] [==[state.store_release(live); }]==])

# A claim finds the state of a new block, and may see where the one before it lay.
mutant(given_not_released
[==[struct LargeState {]==]
[==[#define TALUS_MODEL_GIVEN_UNORDERED 1
struct LargeState {]==])

# The mode does not claim the block, or does not prove its place again.
mutant(no_block_state
[==[struct LargeState {]==]
[==[#define TALUS_MODEL_UNCHECKED 1
struct LargeState {]==])
mutant(place_not_proven_again
[==[struct LargeState {]==]
[==[#define TALUS_MODEL_PLACE_NOT_PROVEN 1
struct LargeState {]==])
# A thread keeps what it claimed, wherever that lies.
mutant(kept_not_proven
[==[struct LargeState {]==]
[==[#define TALUS_MODEL_KEPT_NOT_PROVEN 1
struct LargeState {]==])
