# SPDX-License-Identifier: MIT
# What the model of src/sync/lock.hpp must notice; the form is that of remote_free_mutants.cmake.

# Nobody is woken.
mutant(never_wakes
[==[os::System::futex_wake_one(shared_state_.futex_word());]==] [==[]==])

# A sleeper that does not say so: the holder gives without waking.
mutant(sleeps_unannounced
[==[while (shared_state_.exchange_acquire(contended) != free) {  // [E1] as in try_take
      os::System::futex_wait(shared_state_.futex_word(), contended);]==]
[==[while (shared_state_.exchange_acquire(held) != free) {
      os::System::futex_wait(shared_state_.futex_word(), held);]==])

# A woken thread takes the lock as if it were alone: a second sleeper is forgotten.
mutant(forgets_other_sleepers
[==[while (shared_state_.exchange_acquire(contended) != free) {  // [E1] as in try_take
      os::System::futex_wait(shared_state_.futex_word(), contended);]==]
[==[while (!try_take()) {
      uint32_t expected = held;
      shared_state_.cas_acquire(expected, contended);
      os::System::futex_wait(shared_state_.futex_word(), contended);]==])

# Giving in two steps: a thread that announces itself in between is not woken.
mutant(given_in_two_steps
[==[if (TALUS_UNLIKELY(shared_state_.exchange_release(free) == contended)) {]==]
[==[const bool is_contended = shared_state_.load_relaxed() == contended;
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
[==[os::System::futex_wait(shared_state_.futex_word(), contended);]==]
[==[return;]==])

# E1: what was written inside is not seen by the next holder.
mutant(given_without_release
[==[shared_state_.exchange_release(free)]==] [==[shared_state_.broken_exchange_relaxed(free)]==])
mutant(taken_without_acquire
[==[shared_state_.cas_acquire(expected, held)]==]
[==[shared_state_.broken_cas_relaxed(expected, held)]==])
mutant(taken_slowly_without_acquire
[==[shared_state_.exchange_acquire(contended)]==]
[==[shared_state_.broken_exchange_relaxed(contended)]==])
