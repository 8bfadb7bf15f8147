// SPDX-License-Identifier: MIT
// modes/allocated: counts the bytes that each thread allocates, for talus_thread_allocated.
//
// Its threads have two-sided lists, whose counts tell all but the blocks that take another way
// (heap/allocated.hpp). It is told of these. A program that never asks pays nothing.
// Owns: the mode, and when it is on. Invariant: it is on while a party asks for it.
// Called on: any thread, without locks of the heap; its operations from slow paths.
#ifndef TALUS_MODES_ALLOCATED_HPP
#define TALUS_MODES_ALLOCATED_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/allocated.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "paths/facts.hpp"
#include "modes/chain.hpp"

namespace talus::core::allocated {

// A block without a cache is not counted: its thread has ended for the heap.
inline void note_block(ModeThread thread, void* block, size_t) noexcept {
  if (thread.cache == nullptr) return;
  tell_allocated(*thread.cache, facts_of(block, "malloc").usable_bytes);
}
// A resize ends a block and begins another, also in place, as in calls.*.
inline void note_resize(ModeThread thread, void*, size_t, void* block, size_t bytes) noexcept {
  if (block != nullptr) note_block(thread, block, bytes);
}
inline size_t no_event(ModeThread thread, ClassId) noexcept {
  if (thread.cache != nullptr) tell_allocated(*thread.cache, 0);
  return SIZE_MAX;
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "allocated";
  mode.note_allocate = note_block;
  mode.end_resize = note_resize;
  mode.blocks_until_event = no_event;
  return mode;
}
inline constexpr Mode mode = make_mode();

// All threads are counted from here on. False: too many modes are on.
TALUS_APART bool ask(uint32_t asker) noexcept {
  Atomic<uint32_t>& askers = allocated_count.shared_askers;
  if (!is_on(mode)) {
    Held held{registry.lock};
    // No thread is told of anything yet, so none writes its word.
    if (!is_on(mode)) for_each_cache(held, begin_allocated);
  }
  if (!switch_on(mode)) return false;
  askers.fetch_or_acq_rel(asker);
  return true;
}
TALUS_APART void end_asking(uint32_t asker) noexcept {
  Atomic<uint32_t>& askers = allocated_count.shared_askers;
  uint32_t now = askers.load_acquire();
  while (!askers.cas_acq_rel(now, now & ~asker)) {}
  if ((now & ~asker) != 0 || now == 0) return;
  switch_off(mode);
  if (askers.load_acquire() != 0) switch_on(mode);  // another party asked meanwhile
}

// Bytes of blocks that the calling thread allocated since its count began. 0: it cannot be counted.
TALUS_APART uint64_t by_this_thread() noexcept {
  constexpr uint32_t self = AllocatedAskers::program;
  const bool has_asked = (allocated_count.shared_askers.load_acquire() & self) != 0;
  if (TALUS_UNLIKELY(!has_asked) && !ask(self)) return 0;
  ThreadCache* cache = existing_cache();
  if (cache == nullptr) return 0;
  tell_allocated(*cache, 0);
  return allocated_bytes_of(*cache).bytes;
}

}  // namespace talus::core::allocated

#endif  // TALUS_MODES_ALLOCATED_HPP
