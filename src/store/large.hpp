// SPDX-License-Identifier: MIT
// store/large: blocks with a range of slices of their own.
//
// A block grows into a free neighbour if it can. If not, it moves (store/large_move.hpp).
// Owns: LargeBlock descriptors, and a block's change in place. Invariants: the first and last slice
// of a live or kept block carry PageEntry::large() and its descriptor. The program never touched
// what lies behind its end.
// Called on: any thread. Must not know: slabs.
#ifndef TALUS_STORE_LARGE_HPP
#define TALUS_STORE_LARGE_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "slab/block_states.hpp"
#include "heap/heap.hpp"
#include "heap/large_state.hpp"
#include "heap/purge_request.hpp"
#include "heap/sound.hpp"
#include "store/large_guards.hpp"

namespace talus::core {

// The caches' corrections are in their KeptBlocks.
struct LargePool : MadeItems {
  LargeBlock* unused TALUS_GUARDED_BY(space.lock()) = nullptr;
  // blocks that are live or kept, and their usable bytes
  size_t live_bytes TALUS_GUARDED_BY(space.lock()) = 0;
  size_t live_count TALUS_GUARDED_BY(space.lock()) = 0;
  size_t moved_count TALUS_GUARDED_BY(space.lock()) = 0;  // moves by the kernel so far
  // Of ends of shrunken blocks, purged since a background thread was asked for.
  size_t purged_end_bytes TALUS_GUARDED_BY(space.lock()) = 0;

  // Descriptors made = those of blocks + unused ones. What is live is settled later than it
  // changes; tests/unit/at_rest.hpp has the equation of a process at rest.
  bool is_sound() const noexcept TALUS_REQUIRES(space.lock()) {
    size_t unused_count = 0;
    for (const LargeBlock* at = unused; at != nullptr; at = at->next) {
      if (at->state.load_hint() != LargeState::unused || !at->is_sound()) return false;
      unused_count++;
    }
    return is_whole(unused_count);
  }
};
TALUS_CONSTINIT inline LargePool large_pool;

// In audit builds, where a large block begins or ends. The space lock is held.
inline void audit(const LargePool& pool) noexcept TALUS_REQUIRES(space.lock()) {
  if (is_audit_due(pool.made_count())) TALUS_AUDIT_SOUND(pool);
}

inline size_t usable_bytes_of_large(size_t bytes) noexcept {
  return round_up(bytes, os::page_bytes());
}

// The word of a large block's first and last slice names the instance that owns it, if any.
constexpr PageEntry large_word(HeapId owner) noexcept {
  return owner == HeapId::none ? PageEntry::large()
                               : PageEntry::large(static_cast<uint16_t>(owner));
}
constexpr HeapId owner_of_large(PageEntry word) noexcept {
  return word.bits() == PageEntry::large().bits() ? HeapId::none : HeapId(word.tag());
}

inline void begin_large(LargeBlock& large, const Range& range, size_t usable_bytes) noexcept {
  large.base = range.base;
  large.slices = range.slices;
  large.usable_bytes = usable_bytes;
  large.next = nullptr;
  large.front_bytes = 0;
  large.previous_inside = large.next_inside = nullptr;
  large.block_state.store_release(BlockState::given);  // a claim sees the base
  large.is_guarded = large.has_front_guard = large.has_tail_guard = false;
  LargeState::begin(large.state);
}

// A descriptor over a new range; null: no memory.
TALUS_USUAL LargeBlock* take_large(size_t bytes, size_t slices, const Placing& placing,
                                   Zeroed& zeroed, HeapId owner = HeapId::none) noexcept {
  TALUS_ASSERT(bytes != 0 && slices >= divide_up(bytes, slice_bytes));
  TALUS_ASSERT(owner == HeapId::none || is_instance(owner));
  Held held{space.lock()};
  LargeBlock* large = large_pool.unused;
  if (large == nullptr) {
    large = static_cast<LargeBlock*>(space.take_metadata(held, sizeof(LargeBlock)));
    if (large == nullptr) return nullptr;
    large_pool.note_made();
  } else {
    large_pool.unused = large->next;
    large_pool.note_out();
  }
  LargeRoom room{slices, 0, placing};
  if (TALUS_UNLIKELY(options.guard_pages)) add_guards(room, usable_bytes_of_large(bytes));
  // The descriptor is ours before take(), which may let other threads in while it purges.
  Range range = space.take(held, room.all_slices(), room.placing);
  if (range.base == 0) {
    large->next = large_pool.unused;
    large_pool.unused = large;
    large_pool.note_back();
    return nullptr;
  }
  TALUS_ASSERT(range.slices == room.all_slices());
  range.base += room.front_slices * slice_bytes;
  range.slices = room.slices;
  TALUS_ASSERT(placing.is_request || (range.base - placing.phase) % placing.alignment == 0);
  begin_large(*large, range, usable_bytes_of_large(bytes));
  page_map.set_ends(range.base, range.slices, large_word(owner), large);
  if (TALUS_UNLIKELY(room.front_slices != 0)) begin_guarded(*large);
  large_pool.live_bytes += large->usable_bytes;
  large_pool.live_count++;
  zeroed = range.zeroed;
  TALUS_AUDIT_SOUND(*large);
  audit(large_pool);
  return large;
}

// What a move left of a range. Its first bytes read as zero and have no pages, because the kernel
// moved them away. The bytes behind them may hold anything.
struct MovedRange {
  size_t gone_bytes = 0;
  size_t counted_bytes = 0;  // by Space::begin_move
};

// Returns a range and its descriptor. The caller holds the space lock, and has claimed the block.
TALUS_USUAL void give_large(Held<SpaceLock>& held, LargeBlock& large,
                            const MovedRange& moved) noexcept TALUS_REQUIRES(space.lock()) {
  const uint8_t state = large.state.load_own();
  TALUS_ASSERT(space.lock().is_own() && state != LargeState::unused);
  const bool may_go = TALUS_LIKELY(!large.is_guarded) || end_guarded(large);
  const uintptr_t base = large.base - large.is_guarded * slice_bytes;
  const size_t slices = large.slices + large.is_guarded;
  TALUS_ASSERT(moved.gone_bytes <= slices * slice_bytes);
  const size_t clean_slices = moved.gone_bytes / slice_bytes;
  if (state != LargeState::kept) {
    large_pool.live_bytes -= large.usable_bytes;
    large_pool.live_count--;
  }
  page_map.set_ends(large.base, large.slices, PageEntry{}, nullptr);
  LargeState::end(large.state);
  large.base = large.slices = large.usable_bytes = large.front_bytes = 0;
  large.previous_inside = large.next_inside = nullptr;
  large.next = large_pool.unused;
  large_pool.unused = &large;
  large_pool.note_back();
  audit(large_pool);
  if (TALUS_UNLIKELY(!may_go)) return;  // the range is out of use, and counts as given
  if (moved.counted_bytes != 0) space.end_move(held, moved.counted_bytes);
  if (clean_slices == slices) return space.give(held, base, slices, false);
  // The clean part first: what is given decides how much of the rest may be kept.
  const size_t first = clean_slices != 0 && space.can_divide(held) ? clean_slices : 0;
  if (first != 0) space.give_part(held, base, first, false);
  space.give(held, base + first * slice_bytes, slices - first, true);
  request_purge_if_dirty(held);
}
TALUS_USUAL void give_large(LargeBlock& large, const MovedRange& moved = {}) noexcept {
  Held held{space.lock()};
  give_large(held, large, moved);
}

inline void* start_of(const LargeBlock& large) noexcept {
  return reinterpret_cast<void*>(large.base + large.front_bytes);
}

// A call met a block that the program does not have.
[[noreturn]] TALUS_COLD void report_freed_large(const LargeBlock& large, const void* pointer,
                                                const char* call) noexcept {
  const size_t bytes = large.usable_bytes;  // 0: another thread returned the range just now
  if (call[0] == 'f' && bytes != 0) report::double_free(pointer, bytes);
  report::foreign_pointer(pointer, call);
}

// The live block that starts at this address, which had a large entry a moment ago. Reports
// anything else. Other threads may free the block at this moment: then claim() fails.
TALUS_USUAL LargeBlock& prove_large(void* pointer, const char* call) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const PageMap::Found found = page_map.look(address);
  if (!found.word.is_large()) report::foreign_pointer(pointer, call);
  auto& large = *static_cast<LargeBlock*>(found.descriptor);
  const bool is_live = large.state.load_acquire() == LargeState::live;
  if (is_live && start_of(large) == pointer) return large;
  if (!is_live && (large.base == 0 || start_of(large) == pointer)) {
    report_freed_large(large, pointer, call);
  }
  const size_t bytes = large.usable_bytes;  // 0: another thread returned the range just now
  if (bytes == 0 || address < large.base + large.front_bytes) {
    report::foreign_pointer(pointer, call);
  }
  report::interior_pointer(pointer, start_of(large), bytes);
}

// The program loses a block that it had a moment ago, and the range goes back.
TALUS_SLOW void give_freed(LargeBlock& large, void* pointer) noexcept {
  Held held{space.lock()};
  // Under the lock a descriptor does not begin anew.
  const bool is_own = start_of(large) == pointer && large.claim(LargeState::changing);
  if (TALUS_UNLIKELY(!is_own)) report_freed_large(large, pointer, "free");
  give_large(held, large, {});
}

// A block that a call resizes. Another thread that frees it meanwhile is reported.
class LargeChange {
 public:
  explicit LargeChange(LargeBlock& large) noexcept : large_{large} {
    void* start = start_of(large);
    if (TALUS_UNLIKELY(!large.claim(LargeState::changing))) {
      report_freed_large(large, start, "realloc");
    }
  }
  LargeChange(const LargeChange&) = delete;
  LargeChange& operator=(const LargeChange&) = delete;
  // The program has the block again.
  ~LargeChange() {
    if (is_over_) return;
    if (TALUS_UNLIKELY(large_.is_guarded) && !large_.has_tail_guard) set_tail_guard(large_);
    LargeState::end_change(large_.state);
  }
  // The range goes back.
  void end() noexcept { is_over_ = true; }

 private:
  LargeBlock& large_;
  bool is_over_ = false;
};

inline void set_usable_bytes(LargeBlock& large, size_t bytes) noexcept
    TALUS_REQUIRES(space.lock()) {
  TALUS_ASSERT(large.state.load_own() == LargeState::changing && large.front_bytes == 0);
  const size_t usable = usable_bytes_of_large(bytes);
  TALUS_ASSERT(usable <= large.slices * slice_bytes);
  large_pool.live_bytes += usable - large.usable_bytes;
  large.usable_bytes = usable;
}

// The end of a shrunken block was purged at once, because no background thread is at work. A
// program that does so often should have one.
inline void note_end_purged(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(space.lock()) {
  large_pool.purged_end_bytes += bytes;
  if (large_pool.purged_end_bytes < purge_request_bytes_min) return;
  large_pool.purged_end_bytes = 0;
  purge_request.is_much.store_hint(true);
}

// Makes a large block hold `bytes` (more than small_bytes_max) in place. False: it cannot.
TALUS_USUAL bool resize_large_in_place(LargeBlock& large, size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - slice_bytes) return false;
  if (usable_bytes_of_large(bytes) == large.usable_bytes) return true;
  TALUS_ASSERT(bytes > small_bytes_max);
  const size_t end_bytes = large.is_guarded ? os::page_bytes() : 0;
  const size_t needed = divide_up(usable_bytes_of_large(bytes) + end_bytes, slice_bytes);
  const PageEntry word = page_map.word_of(large.base);
  Held held{space.lock()};
  const LargeChange change{large};
  if (TALUS_UNLIKELY(large.is_guarded) && !lift_tail_guard(large)) return false;
  if (needed > large.slices) {
    const size_t more = needed - large.slices;
    const uintptr_t end = large.base + large.slices * slice_bytes;
    const Range grown = space.take_at(held, end, more, more + (needed >> headroom_shift));
    if (grown.base == 0) return false;
    page_map.set_ends(large.base, large.slices, PageEntry{}, nullptr);
    large.slices += grown.slices;
    page_map.set_ends(large.base, large.slices, word, &large);
  } else if (needed < large.slices - (large.slices >> headroom_shift) && space.can_divide(held)) {
    // Return what a shrunken block no longer needs; the head-room of a growing block stays.
    const size_t surplus = large.slices - needed;
    const bool was_used = needed * slice_bytes < large.usable_bytes;
    page_map.set_ends(large.base, large.slices, PageEntry{}, nullptr);
    large.slices = needed;
    page_map.set_ends(large.base, large.slices, word, &large);
    set_usable_bytes(large, bytes);
    TALUS_AUDIT_SOUND(large);
    // What was in use may be needed again at once, so it goes by its age where a thread looks after
    // that. Head-room was never touched, but the memory may be older than the block.
    const bool may_age = was_used && purge_request.is_served.load_hint();
    const uintptr_t tail = large.base + needed * slice_bytes;
    const bool purged = !may_age && surplus * slice_bytes >= behind_purge_bytes_min &&
                        purge_pages(reinterpret_cast<void*>(tail), surplus * slice_bytes);
    if (purged && was_used) note_end_purged(held, surplus * slice_bytes);
    space.give_part(held, tail, surplus, !purged);
    request_purge_if_dirty(held);
    return true;
  }
  set_usable_bytes(large, bytes);
  TALUS_AUDIT_SOUND(large);
  return true;
}

}  // namespace talus::core

#endif  // TALUS_STORE_LARGE_HPP
