# SPDX-License-Identifier: MIT
# What the model of src/sync/lock.hpp must notice; the form is as in remote_free_mutants.cmake.

# No thread is woken.
mutant(never_wakes
[==[if (TALUS_UNLIKELY((shared_state_.exchange_release(free) & contended) != 0)) {
      os::System::futex_wake_one(shared_state_.futex_word());]==]
[==[if (TALUS_UNLIKELY((shared_state_.exchange_release(free) & contended) != 0)) {]==])

# A sleeper that does not say so: the holder gives without waking.
mutant(sleeps_unannounced
[==[} else if ((state & contended) != 0 || shared_state_.cas_acquire(state, state | contended)) {
        os::System::futex_wait(shared_state_.futex_word(), state | contended);]==]
[==[} else {
        os::System::futex_wait(shared_state_.futex_word(), state);]==])

# A woken thread takes the lock as if it were alone: a second sleeper is forgotten.
mutant(forgets_other_sleepers
[==[os::System::thread_mark() | contended;]==] [==[os::System::thread_mark();]==])

# Giving in two steps: a thread that announces itself in between is not woken.
mutant(given_in_two_steps
[==[if (TALUS_UNLIKELY((shared_state_.exchange_release(free) & contended) != 0)) {]==]
[==[const bool is_contended = (shared_state_.load_relaxed() & contended) != 0;
    shared_state_.store_release(free);
    if (is_contended) {]==])

# Taking in two steps: two threads find the lock free.
mutant(taken_in_two_steps
[==[return shared_state_.cas_acquire(expected, held);]==]
[==[if (shared_state_.load_acquire() != expected) return false;
    shared_state_.store_release(held);
    return true;]==])

# Taken whatever it was.
mutant(does_not_wait
[==[os::System::futex_wait(shared_state_.futex_word(), state | contended);]==]
[==[return;]==])

# A waiting thread writes its own mark over the holder's.
mutant(misnames_the_holder
[==[shared_state_.cas_acquire(state, state | contended)]==]
[==[shared_state_.cas_acquire(state, locked)]==])

# A thread that asks for sleepers makes them be forgotten.
mutant(asks_without_waking
[==[if (!shared_state_.cas_acquire(expected, held)) return false;
    os::System::futex_wake_one(shared_state_.futex_word());]==]
[==[if (!shared_state_.cas_acquire(expected, held)) return false;]==])

# E1: what was written inside is not seen by the next holder.
mutant(given_without_release
[==[shared_state_.exchange_release(free)]==] [==[shared_state_.broken_exchange_relaxed(free)]==])
mutant(taken_without_acquire
[==[return shared_state_.cas_acquire(expected, held)]==]
[==[return shared_state_.broken_cas_relaxed(expected, held)]==])
mutant(taken_slowly_without_acquire
[==[shared_state_.cas_acquire(state, locked)]==]
[==[shared_state_.broken_cas_relaxed(state, locked)]==])
