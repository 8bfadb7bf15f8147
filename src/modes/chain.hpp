// SPDX-License-Identifier: MIT
// modes/chain: switches modes on and off, and leads threads to them.
//
// A thread that begins gets the context of its modes at once. The probe of idle-cache reclaim leads
// a running thread there (cache/idle_caches.hpp). The probe context takes the place of the thread's
// own, and its next call puts back the context that the probe names.
//
// Owns: which mode has which place, and the contexts of caches. Invariants: the bit of a mode is
// set before threads are led to it. A context is made once and never freed. Called on: any thread,
// without locks of the heap. Must not know: what a mode does.
#ifndef TALUS_MODES_CHAIN_HPP
#define TALUS_MODES_CHAIN_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "heap/thread_order.hpp"
#include "cache/idle_caches.hpp"

namespace talus::core {

inline constexpr ContextOperations mode_operations = {cache_of_mode_context, &process_modes};
inline constexpr ContextOperations sided_operations = {cache_of_mode_context, &process_modes, false,
                                                       true};

// Makes a context for this cache; null: no memory. Its cache may be null, too.
inline ModeContext* make_mode_context(Held<SpaceLock>& held, ThreadCache* cache) noexcept
    TALUS_REQUIRES(space.lock()) {
  void* memory = space.take_metadata(held, sizeof(ModeContext));
  if (memory == nullptr) return nullptr;
  auto* context = static_cast<ModeContext*>(memory);
  begin_mode_context(*context, cache, context->own_states, mode_operations);
  return context;
}

// Do all modes that are on make do with two-sided lists? A size that the compiler knows leads past
// the table of sizes, so contexts of header-only programs stay closed.
TALUS_APART bool may_have_sides() noexcept {
#if defined(TALUS_HEADER_ONLY)
  return false;
#else
  for (uint32_t left = process_modes.shared_on.load_acquire(); left != 0; left &= left - 1) {
    const Mode& mode = *process_modes.shared_modes[lowest_bit(left)].load_init();  // bit acquired
    if (mode.blocks_until_event == nullptr || mode.divert != nullptr) return false;
  }
  return true;
#endif
}

// The two contexts of a cache, made when first asked for; null: no memory.
inline ModeContext* closed_context_of(ThreadCache& cache) noexcept {
  ModeContext* context = cache.shared_mode_context.load_acquire();
  if (context != nullptr) return context;
  Held held{space.lock()};
  ModeContext* made = make_mode_context(held, &cache);
  context = cache.shared_mode_context.load_own();  // under the lock, where space let others in
  if (context != nullptr || made == nullptr) return context;
  cache.shared_mode_context.store_release(made);
  return made;
}
TALUS_APART SidedContext* sided_context_of(ThreadCache& cache) noexcept {
  SidedContext* context = cache.shared_sides.load_acquire();
  ModeContext* closed = context != nullptr ? nullptr : closed_context_of(cache);
  if (closed == nullptr) return context;
  Held held{space.lock()};
  void* memory = space.take_metadata(held, sizeof(SidedContext));
  context = cache.shared_sides.load_own();  // as before
  if (context != nullptr || memory == nullptr) return context;
  context = static_cast<SidedContext*>(memory);
  begin_mode_context(*context, &cache, *closed->states, sided_operations);
  open_sides(*context);
  cache.shared_sides.store_release(context);
  return context;
}

// For want of memory the thread is in no mode.
TALUS_APART ThreadContext& without_modes(ThreadCache& cache) noexcept {
  note_partial();
  return cache;
}

// The context of a thread with this cache. It is that of the process's modes. The cache itself: no
// mode is on, or there is no memory. For its owner, or under its idle probe's lock.
inline ThreadContext& context_for(ThreadCache& cache) noexcept {
  if (process_modes.is_empty()) return cache;
  if (may_have_sides()) {
    SidedContext* sides = sided_context_of(cache);
    if (sides == nullptr) return without_modes(cache);
    if (sides->id != cache.id) sides->id = cache.id;  // it may stand before another heap now
    return *sides;
  }
  ModeContext* context = closed_context_of(cache);
  return context != nullptr ? static_cast<ThreadContext&>(*context) : without_modes(cache);
}

// Of threads that have lost their cache; under the space lock.
struct LateModes {
  ModeContext* context = nullptr;
};
TALUS_CONSTINIT inline LateModes late_modes;

// The context of a thread whose cache has ended; one without modes if there is no memory.
inline ThreadContext& context_after_end() noexcept {
  if (process_modes.is_empty()) return ended_context;
  Held held{space.lock()};
  if (late_modes.context == nullptr) {
    ModeContext* made = make_mode_context(held, nullptr);
    if (late_modes.context == nullptr) late_modes.context = made;  // space let others in meanwhile
  }
  if (late_modes.context != nullptr) return *late_modes.context;
  note_partial();
  return ended_context;
}

// --- switching -----------------------------------------------------------------------------------

// The first place with this mode in the chain, or without one (null); modes_max: there is none.
inline size_t place_of(const Mode* mode) noexcept {
  size_t place = 0;
  while (place < modes_max && process_modes.shared_modes[place].load_acquire() != mode) place++;
  return place;
}
inline bool is_on(const Mode& mode) noexcept {
  const size_t place = place_of(&mode);
  return place < modes_max && ((process_modes.shared_on.load_acquire() >> place) & 1) != 0;
}

// Does the process say which context this thread has? A thread that reported a fault keeps its own.
inline bool may_be_led(const ThreadContext& context) noexcept {
  return context.operations == nullptr || context.operations->modes == &process_modes;
}

// Leads the owner of a cache to the context that the process's modes give it now. Its next call
// finds the probe context and comes back to that one. A call that is under way ends on the context
// that it found. The caller holds the registry's lock.
inline void lead_owner(Held<RegistryLock>&, ThreadCache& cache) noexcept {
  TALUS_ASSERT(registry.lock.is_own());
  IdleProbe& idle_probe = cache.idle_probe;
  Held held{idle_probe.lock};
  Atomic<ThreadContext*>* slot = idle_probe.context_slot.load_own();  // under the lock
  if (slot == nullptr) return;  // it begins, and looks again later (attend), or it ends
  ThreadContext& next = context_for(cache);
  Atomic<ThreadContext*>& before = idle_probe.shared_before;
  const bool is_active = cache.shared_state.load_own() == OwnerState::active;  // under the lock
  ThreadContext* now = is_active ? slot->load_own() : before.load_own();       // under the lock
  if (!may_be_led(*now) || now == &next) return;
  if (is_active) {
    put_probe(idle_probe, cache, next, ThreadOrder::never);
  } else {
    before.store_release(&next);
  }
}

inline void lead_threads(Held<RegistryLock>& held) noexcept TALUS_REQUIRES(registry.lock) {
  for (ThreadCache* cache = registry.caches; cache != nullptr; cache = cache->next) {
    lead_owner(held, *cache);
  }
}

// A thread that just attended to its cache may have found its context before a mode was switched on
// that did not find the thread (lead_owner). It looks again.
inline void look_again(ThreadCache& cache) noexcept {
  if (process_modes.is_empty()) return;
  Held held{cache.idle_probe.lock};
  const bool is_active = cache.shared_state.load_own() == OwnerState::active;  // under the lock
  if (is_active) set_context(context_for(cache));
}

// These modes are on from here on. The caller holds the registry's lock.
inline void set_bits(uint32_t on) noexcept {
  TALUS_ASSERT(registry.lock.is_own() && on < 1u << modes_max);
  uint32_t making = 0, diverting = 0;
  bool is_without_slabs = true;
  for (uint32_t left = on; left != 0; left &= left - 1) {
    const Mode& mode = *process_modes.shared_modes[lowest_bit(left)].load_own();
    if (mode.allocate != nullptr) making |= left & (~left + 1);
    if (mode.divert != nullptr) diverting |= left & (~left + 1);
    is_without_slabs = is_without_slabs && mode.is_without_slabs;
  }
  const bool is_alone = on != 0 && (on & (on - 1)) == 0;
  const Mode* alone = is_alone ? process_modes.shared_modes[lowest_bit(on)].load_own() : nullptr;
  if (alone != nullptr && alone->allocate_alone == nullptr) alone = nullptr;
  process_modes.shared_alone.store_release(alone);
  process_modes.shared_is_without_slabs.store_release(is_without_slabs);
  process_modes.shared_on.store_release(on);
  process_modes.shared_making.store_release(making);
  process_modes.shared_diverting.store_release(diverting);
}
// Gives a mode a place behind those that the chain has, and sets its bit. False: the chain is full.
// The caller holds the registry's lock.
inline bool set_bit(const Mode& mode) noexcept {
  size_t place = place_of(&mode);
  TALUS_ASSERT(registry.lock.is_own());
  if (place == modes_max) place = place_of(nullptr);
  if (place == modes_max) return false;
  process_modes.shared_modes[place].store_release(&mode);
  set_bits(process_modes.shared_on.load_own() | 1u << place);
  return true;
}

// Switches a mode on for the calling thread, and for threads that begin later. For the start of a
// process. False: the chain is full.
inline bool begin_mode(const Mode& mode) noexcept {
  {
    Held held{registry.lock};
    if (!set_bit(mode)) return false;
  }
  ThreadContext& context = current_context();
  ThreadCache* cache = may_be_led(context) ? cache_behind(context) : nullptr;
  if (cache == nullptr) return true;
  set_context(context_for(*cache));
  leave_sides(*cache);
  return true;
}

// Switches a mode on or off for all threads of a running process. A thread follows at its next
// call, if it has a cache and its end is watched. False: the chain is full.
TALUS_APART bool switch_on(const Mode& mode) noexcept {
  Held held{registry.lock};
  if (!set_bit(mode)) return false;
  lead_threads(held);
  return true;
}
TALUS_APART void switch_off(const Mode& mode) noexcept {
  Held held{registry.lock};
  const size_t place = place_of(&mode);
  if (place == modes_max) return;
  set_bits(process_modes.shared_on.load_own() & ~(1u << place));
  lead_threads(held);
}

}  // namespace talus::core

#endif  // TALUS_MODES_CHAIN_HPP
