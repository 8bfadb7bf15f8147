# SPDX-License-Identifier: MIT
# What the model of idle-cache reclaim must notice of src/cache/idle_caches.hpp, or of its callers;
# the form is as in remote_free_mutants.cmake. Lists are places here (idle_caches_places.cmake).

# The asking thread does not wait before it takes back.
mutant(helper_does_not_wait
[==[class Working {]==]
[==[#define TALUS_MODEL_NO_WAIT 1
class Working {]==])

# The owner works on its lists while they are emptied.
mutant(working_does_not_look
[==[TALUS_LIKELY(cache.shared_state.load_hint() == OwnerState::active)]==] [==[true]==])
mutant(brief_work_does_not_look
[==[may_begin = context.shared_state.load_hint() == OwnerState::active;]==]
[==[may_begin = true;]==])
mutant(looks_before_it_says_so
[==[  cache.shared_busy.own_add(1);
  compiler_fence();
  // A stale state is harmless: the lock decides.
  return TALUS_LIKELY(cache.shared_state.load_hint() == OwnerState::active);]==]
[==[  const bool is_present = cache.shared_state.load_relaxed() == OwnerState::active;
  cache.shared_busy.own_add(1);
  return is_present;]==])
mutant(does_not_wait_for_who_empties
[==[  Held held{idle_probe.lock};
  if (cache.shared_state.load_own() == OwnerState::active) return;]==]
[==[  if (cache.shared_state.load_own() == OwnerState::active) return;]==])

# A thread that finds that the owner left a slow path does not see what the owner did there.
mutant(leaves_without_release
[==[busy.store_release(busy.load_own() - 1);]==]
[==[busy.store_relaxed(busy.load_relaxed() - 1);]==])

mutant(brief_work_leaves_without_release
[==[busy_.store_release(depth_);]==] [==[busy_.store_relaxed(depth_);]==])

# Gaps stay in the lists of an owner that is back, or that leaves.
mutant(close_gaps_forgotten
[==[  close_gaps(held, cache);
]==] [==[]==])
mutant(come_back_leaves_gaps
[==[  become_whole(cache);
  set_context(*idle_probe.shared_before.load_own());  // under the lock]==]
[==[  set_context(*idle_probe.shared_before.load_own());  // under the lock]==])
mutant(depart_leaves_gaps
[==[  become_whole(cache);
  idle_probe.context_slot.store_own(nullptr);        // under the lock]==]
[==[  idle_probe.context_slot.store_own(nullptr);        // under the lock]==])
mutant(gaps_closed_without_top
[==[  top.store_own(end);]==] [==[]==])

# A fork finds a block twice.
mutant(gaps_closed_without_lock
[==[  Held held{lock_of(cache)};
  close_gaps(held, cache);]==]
[==[  HeapLock none;
  Held held{none};
  close_gaps(held, cache);]==])

# The helper reaches for the context, or for the blocks, of a thread that is gone.
mutant(depart_does_not_clear_the_slot
[==[  idle_probe.context_slot.store_own(nullptr);        // under the lock
]==] [==[]==])
mutant(depart_leaves_it_asked
[==[  cache.shared_state.store_own(OwnerState::active);  // under the lock
  set_context(last);]==]
[==[  set_context(last);]==])
mutant(depart_without_lock
[==[  Held held{idle_probe.lock};
  become_whole(cache);]==]
[==[  become_whole(cache);]==])
