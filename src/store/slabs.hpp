// SPDX-License-Identifier: MIT
// store/slabs: where a heap's slabs come from, how they change state, and where they go.
//
// Owns: the transitions of a slab between unused, available and full. Each is one function with a
// from-to name. Invariants: a slab is in its heap's bins exactly while it has free blocks. An empty
// slab goes back to address space at once, unless it may stay (store/keep_empty.hpp).
// Called on: any thread that holds the heap's lock; may take the space lock below it.
// Must not know: thread lists.
#ifndef TALUS_STORE_SLABS_HPP
#define TALUS_STORE_SLABS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "retention/decay_clock.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/block_states.hpp"
#include "slab/purged.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/purge_request.hpp"
#include "heap/sound.hpp"
#include "heap/context.hpp"
#include "heap/empty_slabs.hpp"
#include "heap/heap.hpp"
#include "heap/registry.hpp"
#include "heap/slab_room.hpp"
#include "regions/region_words.hpp"
#include "store/descriptor_pool.hpp"
#include "store/keep_empty.hpp"
#include "store/slab_at.hpp"
#include "store/slab_guards.hpp"
#include "store/waiting_slabs.hpp"

namespace talus::core {

// A slab joins (+1) or leaves (-1) its heap, with its free blocks.
inline void count_slab(Heap& heap, const Slab& slab, ptrdiff_t sign) noexcept {
  TALUS_ASSERT(sign == 1 || (sign == -1 && heap.slab_count != 0));
  const ptrdiff_t slices = size_class_row(slab.class_id).slab_slices;
  heap.slab_count += static_cast<size_t>(sign);
  heap.class_slabs[index_of(slab.class_id)] += static_cast<uint32_t>(sign);
  heap.slab_bytes += static_cast<size_t>(sign * slices * ptrdiff_t{slice_bytes});
  heap.free_bytes += static_cast<size_t>(sign * ptrdiff_t{slab.free_count} * slab.block_bytes);
  heap.purged_page_bytes += static_cast<size_t>(sign * ptrdiff_t{slab.purged_page_bytes});
}

// Notes that this many bytes of the slab's free blocks have no pages now.
inline void note_purged_units(Heap& heap, Slab& slab, size_t bytes) noexcept {
  const size_t free_bytes = size_t{slab.free_count} * slab.block_bytes;
  if (bytes > free_bytes) bytes = free_bytes;  // what lies behind the last block is no block
  heap.purged_page_bytes += bytes - slab.purged_page_bytes;
  slab.purged_page_bytes = static_cast<uint32_t>(bytes);
}

// Does the heap fill its slabs? Then new slabs will soon be full, too. Medium blocks are like large
// ones: their use of pages depends more on the program.
inline Filling filling_of(const Heap& heap, ClassId id) noexcept {
  if (is_medium(id)) return Filling::unknown;
  if (heap.free_bytes <= heap.slab_bytes / dense_free_part) return Filling::dense;
  if (heap.free_bytes <= heap.slab_bytes / middling_free_part) return Filling::middling;
  return Filling::sparse;
}

// Returns the range of an empty slab that is in no list to address space.
TALUS_USUAL void slab_to_unused(Heap& heap, Slab& slab) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own() && slab.state != SlabState::unused);
  const size_t slices = size_class_row(slab.class_id).slab_slices;
  const size_t all_slices = slices_of(slab);
  const uintptr_t base = slab.range_base();
  const bool is_kept = options.keep_classes;
  const bool may_go = TALUS_LIKELY(is_kept || !slab.has_guard) || lift_guard(slab);
  count_slab(heap, slab, -1);
  slab.enter(SlabState::unused);
  slab.block_count = slab.free_count = 0;
  Held held{space.lock()};
  put_unused(held, slab);
  audit(descriptor_pool);
  page_map.set_all(base, slices, PageEntry{}, nullptr);
  if (TALUS_UNLIKELY(is_kept)) return let_wait(held, slab);
  if (TALUS_UNLIKELY(!may_go)) return;  // the range is out of use, and counts as given
  space.give(held, base, all_slices, true);
  request_purge_if_dirty(held);
}
inline void slab_available_to_unused(Heap& heap, Slab& slab) noexcept {
  TALUS_ASSERT(slab.state == SlabState::available);
  heap.available[index_of(slab.class_id)].remove(slab);
  slab_to_unused(heap, slab);
}

// The heap is about to take untouched memory. An empty slab that another class kept goes first.
TALUS_SLOW void end_kept_slab(Heap& heap) noexcept {
  heap.empty_slabs.find_kept([&heap](ClassId id) noexcept {
    Slab* slab = find_empty(heap, id);
    if (slab == nullptr) return false;
    slab_available_to_unused(heap, *slab);
    return true;
  });
}

// Other threads bring the heap's blocks home, so its own may be at rest. It keeps no slabs for
// batches from here on.
inline void give_up_kept_slabs(Heap& heap) noexcept {
  heap.empty_slabs.begin_anew();
  while (TALUS_UNLIKELY(heap.empty_slabs.may_have_kept())) end_kept_slab(heap);
}

inline Slab* make_slab(Heap& heap, ClassId id) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  heap.empty_slabs.note_made(id, heap.class_slabs[index_of(id)]);
  const SizeClass& row = size_class_row(id);
  const SlabRoom room = room_of_slab(id);
  Held held{space.lock()};
  if (TALUS_UNLIKELY(heap.empty_slabs.may_have_kept()) &&
      space.dirty_bytes() < room.slices * slice_bytes) {
    held.unlock_for_a_while();
    end_kept_slab(heap);
    held.lock_again();
  }
  Slab*& unused = descriptor_pool.unused[index_of(id)];
  Slab* slab = unused;
  if (slab == nullptr) {
    void* zeroed = space.take_metadata(held, Slab::descriptor_bytes(row.bitmap_words));
    if (zeroed == nullptr) return nullptr;
    slab = make_descriptor(zeroed, id);
    descriptor_pool.note_made();
  } else {
    unused = slab->next;
    descriptor_pool.note_out();
  }
  if (TALUS_UNLIKELY(keeps_block_states()) && !attach_states(held, *slab)) {
    put_unused(held, *slab);
    return nullptr;
  }
  // The descriptor is ours before take(), which may unlock for a while.
  const Range range =
      TALUS_UNLIKELY(slab->has_range)
          ? take_waiting(held, *slab)
          : space.take(held, room.slices, slab_alignment_of(id), filling_of(heap, id));
  if (range.base == 0) {
    put_unused(held, *slab);
    return nullptr;
  }
  slab->begin(range.base, range.zeroed, room.block_count, front_of_slab(heap, id));
  const bool is_fresh = range.zeroed == Zeroed::yes && has_block_units(*slab, os::page_bytes());
  if (TALUS_UNLIKELY(is_fresh) && !space.is_huge(held, range.base)) be_untouched(*slab);
  slab->guard_slices = static_cast<uint8_t>(range.slices - row.slab_slices);
  page_map.set_all(range.base, row.slab_slices, PageEntry{heap.id, list_tag(id)}, slab);
  heap.available[index_of(id)].add(*slab, SlabState::available);
  count_slab(heap, *slab, +1);
  audit(descriptor_pool);
  return slab;
}

// A new slab of this class over fresh address space, already in the list. Null: no memory.
TALUS_SLOW Slab* slab_unused_to_available(Heap& heap, ClassId id) noexcept {
  Slab* slab = make_slab(heap, id);
  if (TALUS_UNLIKELY(options.guard_pages) && slab != nullptr && !slab->has_guard) {
    set_guard(*slab);
  }
  return slab;
}

inline void slab_available_to_full(Heap& heap, Slab& slab) noexcept {
  TALUS_ASSERT(slab.state == SlabState::available && slab.free_count == 0);
  heap.available[index_of(slab.class_id)].remove(slab);
  if (is_instance(heap.id)) return heap.full.add(slab, SlabState::full);
  slab.enter(SlabState::full);
}

inline void slab_purging_to_partly_purged(Heap& heap, Slab& slab) noexcept {
  TALUS_ASSERT(slab.state == SlabState::purging && !slab.is_empty());
  heap.partly_purged[index_of(slab.class_id)].add(slab, SlabState::partly_purged);
  heap.partly_purged_free_bytes += size_t{slab.free_count} * slab.block_bytes;
}
// Blocks leave or enter a partly purged slab: from here on it is like any other.
TALUS_SLOW void slab_partly_purged_to_available(Heap& heap, Slab& slab,
                                                uint32_t free_count) noexcept {
  TALUS_ASSERT(slab.state == SlabState::partly_purged && free_count <= slab.free_count);
  heap.partly_purged[index_of(slab.class_id)].remove(slab);
  heap.partly_purged_free_bytes -= size_t{free_count} * slab.block_bytes;
  heap.available[index_of(slab.class_id)].add(slab, SlabState::available);
}

// Moves a slab to its new place after many blocks came home.
TALUS_SLOW void slab_got_many(Heap& heap, Slab& slab, uint32_t count_before) noexcept {
  TALUS_ASSERT(slab.free_count > count_before && slab.state != SlabState::unused);
  SlabBins& bins = heap.available[index_of(slab.class_id)];
  if (TALUS_LIKELY(slab.state == SlabState::available)) {
    bins.refit(slab);
  } else if (slab.state == SlabState::full) {
    if (is_instance(heap.id)) heap.full.remove(slab);
    bins.add(slab, SlabState::available);
  } else if (slab.state == SlabState::partly_purged) {
    slab_partly_purged_to_available(heap, slab, count_before);
  } else {
    return;  // the purging thread looks at it afterwards
  }
  if (!slab.is_empty()) return;
  if (!may_stay_empty(heap, slab)) slab_available_to_unused(heap, slab);
}

// The slab to take blocks from; null: none has free blocks. Among slabs about equally full, one
// that has its pages comes first. A clearly fuller slab comes before it; otherwise the blocks of a
// class would spread over all slabs that get blocks back.
inline Slab* choose_slab(Heap& heap, ClassId id) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  Slab* slab = heap.available[index_of(id)].fullest();
  if (TALUS_LIKELY(heap.partly_purged_free_bytes == 0)) return slab;  // all have their pages
  Slab* partly_purged = heap.partly_purged[index_of(id)].fullest();
  if (partly_purged == nullptr || (slab != nullptr && slab->bin <= partly_purged->bin)) return slab;
  slab_partly_purged_to_available(heap, *partly_purged, partly_purged->free_count);
  return partly_purged;
}

// The slab's slices name the heap. Regions may lie in its blocks.
inline void rename_slab(const Heap& taker, Slab& slab) noexcept {
  const size_t slices = size_class_row(slab.class_id).slab_slices;
  const PageEntry word{taker.id, list_tag(slab.class_id)};
  Held held{space.lock()};
  for (size_t i = 0; i < slices; i++) {
    rename_slice(held, slab.range_base() + i * slice_bytes, word, &slab);
  }
}

// A partly used slab changes hands, under the locks of both heaps. The giver sends on the blocks
// that are on their way to it at this moment.
inline void slab_changes_hands(Heap& giver, Heap& taker, Slab& slab) noexcept {
  const size_t index = index_of(slab.class_id);
  TALUS_ASSERT(&giver != &taker && slab.state == SlabState::available);
  TALUS_ASSERT(lock_of(giver).is_own() && lock_of(taker).is_own());
  const uint32_t taken = slab.block_count - slab.free_count;
  giver.available[index].remove(slab);
  giver.taken_blocks[index] -= taken;
  count_slab(giver, slab, -1);
  rename_slab(taker, slab);
  taker.available[index].add(slab, SlabState::available);
  taker.taken_blocks[index] += taken;
  count_slab(taker, slab, +1);
  audit(giver);
  audit(taker);
}

// Adopts a slab of this class with free blocks from one of a few abandoned heaps: memory of ended
// threads is used before new memory. False: none found. The caller holds the lock of `heap`. The
// registry's lock keeps threads from arriving at the donor. So only foreign blocks of such a slab
// can be in a list, and these go to the present owner when they are flushed.
TALUS_SLOW bool adopt_slab(Heap& heap, ClassId id) noexcept {
  const uint32_t count = registry.shared_count.load_hint();  // later ones do not matter
  if (count == 1 || !registry.lock.try_lock()) return false;
  bool adopted = false;
  uint32_t number = registry.next_donor;
  for (uint32_t looks = 0; looks < donor_looks && looks < count && !adopted; looks++) {
    number = number % count + 1;
    Heap& donor = heap_number(number);
    if (!donor.is_abandoned() || !lock_of(donor).try_lock()) continue;
    if (Slab* slab = choose_slab(donor, id)) {
      slab_changes_hands(donor, heap, *slab);
      adopted = true;
    }
    lock_of(donor).unlock();
  }
  registry.next_donor = adopted ? number - 1 : number;
  registry.lock.unlock();
  return adopted;
}

// Blocks were taken from an available slab that has purged pages.
TALUS_SLOW void slab_purged_pages(Heap& heap, Slab& slab, void* const* blocks,
                                  size_t count) noexcept {
  TALUS_ASSERT(slab.state == SlabState::available || slab.state == SlabState::partly_purged);
  const size_t before = slab.purged_page_bytes;
  note_purged_units(heap, slab, forget_purged(slab, blocks, count, os::page_bytes()));
  // It may be more than before: pages behind the last block count as far as blocks are free, and
  // blocks may have come home meanwhile.
  if (slab.purged_page_bytes < before && slab.was_purged)
    heap.taken_back_bytes += before - slab.purged_page_bytes;
}
// Blocks were taken from an available slab.
TALUS_FAST void slab_gave_blocks(Heap& heap, Slab& slab, void* const* blocks,
                                 size_t count) noexcept {
  TALUS_ASSERT(count != 0 && slab.state == SlabState::available);
  slab.served_at = decay_clock.load_hint();
  if (TALUS_UNLIKELY(slab.purged_page_bytes != 0)) slab_purged_pages(heap, slab, blocks, count);
  if (slab.free_count == 0) {
    slab_available_to_full(heap, slab);
  } else {
    heap.available[index_of(slab.class_id)].refit(slab);
  }
}
// Notes that `taken` more blocks of a class are outside their slabs.
TALUS_FAST void count_taken(Heap& heap, ClassId id, size_t taken) noexcept {
  TALUS_ASSERT(taken * size_class_row(id).block_bytes <= heap.free_bytes);
  heap.taken_blocks[index_of(id)] += taken;
  heap.free_bytes -= taken * size_class_row(id).block_bytes;
  note_free_bytes(heap);
  heap.free_mark.note(free_touched_bytes(heap));
}

// A slab with free blocks when the heap's own have none; null: no memory.
TALUS_USUAL Slab* find_slab(Heap& heap, ClassId id) noexcept {
  while (adopt_slab(heap, id)) {
    if (Slab* slab = choose_slab(heap, id)) return slab;
  }
  return slab_unused_to_available(heap, id);
}

// Takes up to `wanted` blocks of a class to places[0...], from existing slabs before a new one.
// Returns how many; 0 only when there is no memory.
TALUS_USUAL size_t take_blocks(Heap& heap, ClassId id, void** places, size_t wanted) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own() && places != nullptr);
  size_t taken = 0;
  while (taken < wanted) {
    Slab* slab = choose_slab(heap, id);
    if (slab == nullptr) {
      // A new slab only for a thread that would get nothing otherwise.
      if (taken == 0) slab = find_slab(heap, id);
      if (slab == nullptr) break;
    }
    TALUS_ASSERT(slab->free_count != 0);  // so the loop ends
    const size_t from_slab = slab->take_blocks(places + taken, wanted - taken);
    slab_gave_blocks(heap, *slab, places + taken, from_slab);
    taken += from_slab;
  }
  heap.refills++;
  count_taken(heap, id, taken);
  audit(heap);
  return taken;
}

// Returns the first of the blocks, which lies in this slab, with the neighbours that follow it.
// Returns how many. The caller notes the heap's new free bytes.
TALUS_FAST size_t give_to_slab(Heap& heap, Slab& slab, void* const* blocks, size_t count) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own() && slab.state != SlabState::unused);
  const uint32_t count_before = slab.free_count;
  const size_t given = slab.give_blocks(blocks, count);
  TALUS_ASSERT(given != 0 && given <= heap.taken_blocks[index_of(slab.class_id)]);
  heap.taken_blocks[index_of(slab.class_id)] -= given;
  heap.free_bytes += given * slab.block_bytes;
  if (TALUS_UNLIKELY(slab.free_count >= slab.notice_count)) {
    slab_got_many(heap, slab, count_before);
  }
  return given;
}

// Returns blocks of this heap's slabs, in any order.
TALUS_USUAL void give_blocks(Heap& heap, void* const* blocks, size_t count) noexcept {
  for (size_t done = 0; done < count;) {
    done += give_to_slab(heap, slab_of(heap.id, blocks[done]), blocks + done, count - done);
  }
  note_free_bytes(heap);
  audit(heap);
}

// Returns the empty slabs that are kept for reuse to address space.
TALUS_USUAL void return_empty_slabs(Heap& heap) noexcept {
  for (SlabBins& bins : heap.available) {
    for (Slab* slab = bins.bins[SlabBins::count - 1].first; slab != nullptr;) {
      Slab* next = slab->next;
      if (slab->is_empty()) slab_available_to_unused(heap, *slab);
      slab = next;
    }
  }
  heap.empty_slabs.begin_anew();
  audit(heap);
}

}  // namespace talus::core

#endif  // TALUS_STORE_SLABS_HPP
