# SPDX-License-Identifier: MIT
# What the model of src/slab/block_states.hpp must notice; the form is as in
# remote_free_mutants.cmake.

# A free by another thread loads and stores, as the owner's does: two of them pass.
mutant(exchange_in_two_steps
[==[  return state.exchange_acq_rel(BlockState::freed);]==]
[==[  return claim_own(state);]==])
mutant(foreign_free_as_an_own_one
[==[struct BlockState {]==]
[==[#define TALUS_MODEL_FOREIGN_AS_OWN 1
struct BlockState {]==])

# A free leaves the state as it was.
mutant(own_free_not_stored
[==[  state.store_own(BlockState::freed);
]==] [==[]==])

# An allocation does not look: of two copies both come out.
mutant(given_without_a_look
[==[  return is_right;]==] [==[  return is_right || true;]==])
# An allocation does not store, so that the next free is refused, or passes twice.
mutant(given_not_stored
[==[  state.store_own(BlockState::given);
]==] [==[]==])

# A slab begins with the states of the one before it.
mutant(states_not_forgotten
[==[states[i].store_init(BlockState::untold);]==] [==[(void)states[i];]==])

# The block can be allocated before its state says that it is freed.
mutant(stored_after_the_push
[==[struct BlockState {]==]
[==[#define TALUS_MODEL_STORED_AFTER_PUSH 1
struct BlockState {]==])

# The slab takes a second copy.
mutant(second_copy_in_the_slab_not_noticed
[==[struct BlockState {]==]
[==[#define TALUS_MODEL_BITMAP_IGNORED 1
struct BlockState {]==])
