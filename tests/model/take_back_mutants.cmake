# SPDX-License-Identifier: MIT
# What the model of idle-cache reclaim must notice of src/reclaim/take_back.hpp; the form is as in
# remote_free_mutants.cmake. Lists are places here (idle_caches_places.cmake), batches of two
# (idle_caches_heap.hpp).

# The block that a stopped pop may be about to take.
mutant(takes_the_uppermost
[==[  while (left > 1) {
    void* blocks[batch];
    const size_t part = left - 1 < batch ? left - 1 : batch;]==]
[==[  while (left > 0) {
    void* blocks[batch];
    const size_t part = left < batch ? left : batch;]==])

# The owner is at work.
mutant(ignores_busy
[==[ &&
      cache.shared_busy.load_acquire() == 0) {]==]
[==[) {]==])
# Another thread asked, a moment ago.
mutant(ignores_when_it_was_asked
[==[os::System::now_ns() - idle_probe.asked_ns >= idle_probe_wait_us * 1000;]==]
[==[true;]==])
mutant(looks_at_busy_without_acquire
[==[cache.shared_busy.load_acquire() == 0]==] [==[cache.shared_busy.load_relaxed() == 0]==])

# The owner is there.
mutant(takes_in_state_present
[==[cache.shared_state.load_own() == OwnerState::asked &&]==]
[==[cache.shared_state.load_relaxed() != OwnerState::idle &&]==])
mutant(takes_without_the_lock
[==[  IdleProbe& idle_probe = cache.idle_probe;
  if (!idle_probe.lock.try_lock()) return 0;]==]
[==[  struct Unlocked : IdleProbe {
    struct {
      void unlock() {}
    } lock;
  } idle_probe;
  idle_probe.asked_ns = cache.idle_probe.asked_ns;
  idle_probe.asked_before = cache.idle_probe.asked_before;]==])

# A push or pop that goes on finds another top than it left.
mutant(top_moved
[==[    cache.shared_state.store_own(OwnerState::idle);]==]
[==[    for (size_t index = 0; index < class_count; index++) {
      const ClassId id{static_cast<uint8_t>(index)};
      Place* bottom = list_bottom(cache, id);
      const size_t length = list_length(cache, id);
      if (length > 1) {
        bottom[0] = bottom[length - 1];
        cache.tops[index].store_relaxed(bottom + 1);
      }
    }
    cache.shared_state.store_relaxed(OwnerState::idle);]==])

# Blocks that went home stay in the list.
mutant(leaves_no_nulls
[==[    places[i] = nullptr;
]==] [==[]==])

# A fork, or the owner, takes a list with gaps for a whole one.
mutant(gaps_before_absent
[==[      cache.shared_state.store_own(OwnerState::idle);
]==] [==[]==])

# A fork between the two finds neither list nor slab to have the blocks.
mutant(given_after_the_lock
[==[      Held held{lock_of(cache)};
]==]
[==[      HeapLock another;
      Held held{another};
]==])
