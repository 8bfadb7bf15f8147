// SPDX-License-Identifier: MIT
// heap/sound: what must hold of the counters of a heap, an instance and a thread cache between two
// operations.
//
//   heap      slabs         = sum over classes of slabs of the class
//             blocks        = for each class: taken blocks + free blocks in slabs
//             free_bytes    = free blocks of all slabs, in bytes
//             purged_*      = the same, of partly purged slabs and of purged pages
//             messages      = length of the list of unused ones
//   slab      page map      = each of its slices names the heap, the class and the slab
//   instance  slabs         = those in bins + full ones + those whose pages are being purged
//             large_count   = blocks in its list - blocks that exist twice while they move
//             large_bytes   = usable bytes of these; peak_bytes is never below the footprint
//             ready blocks  = at most the taken blocks of the class
//   slots     slots         = at least those with a handle + those in the chain of unused ones
//             live count    = at least those with a handle
//   large     page map      = its first and last slice name it; its bytes lie in its slices
//   cache     a list        = two nulls, then its blocks without a gap, up to its top
//             a batch       = an owner and a message, or neither
//   sides     a side        = as a list, and at most as many blocks as it has room for
//             moved         = at least the blocks on the allocation side
//             states        = those of the cache's closed context
//   kept      bytes         = slices of the blocks in the stacks
//
// Each counter has one equation, so a mistake in one place breaks the equation of that counter at
// the end of the same operation. Audit builds (TALUS_AUDIT) check at each transition; other builds
// compile the checks and never run them.
// Owns: the equations. Invariants: reads only; a slab whose pages are being purged is in no bin, so
// sums are lower bounds while there is one. Called on: any thread that holds the heap's lock, or
// the owner of a cache. Must not know: the code that changes the counters.
#ifndef TALUS_HEAP_SOUND_HPP
#define TALUS_HEAP_SOUND_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/empty_slabs.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/large_state.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/sides.hpp"
#include "heap/special.hpp"
#include "heap/slab_room.hpp"

namespace talus::core {

// Does the page map say this of a slice? A region that lies in a block names the slices inside it
// (regions/region_words.hpp). Its thread may be at it now, so a difference is looked at again under
// the space lock.
inline bool is_named_so(uintptr_t at, PageEntry word, const void* descriptor) noexcept {
  const PageEntry found = page_map.word_of(at);
  if (is_special(found)) return true;
  return found.bits() == word.bits() && page_map.descriptor_of(at) == descriptor;
}
inline bool is_named(uintptr_t at, PageEntry word, const void* descriptor) noexcept {
  if (is_named_so(at, word, descriptor)) return true;
  if (space.lock().is_own()) return false;
  Held held{space.lock()};
  return is_named_so(at, word, descriptor);
}
inline bool is_slab_named(HeapId owner, const Slab& slab) noexcept {
  const PageEntry word{owner, list_tag(slab.class_id)};
  const uintptr_t base = slab.range_base();
  for (uintptr_t at = base; at < base + slab.bytes(); at += slice_bytes) {
    if (!is_named(at, word, &slab)) return false;
  }
  return true;
}

// Sums over the slabs that a heap can find: those in its bins.
struct SlabSums {
  size_t slabs = 0;
  size_t free_bytes = 0;
  size_t purged_bytes = 0;
  size_t exact = 0;  // of the slabs

  void add(const Slab& slab) noexcept {
    slabs++;
    if (slab.is_exact()) exact++;
    free_bytes += size_t{slab.free_count} * slab.block_bytes;
    purged_bytes += slab.purged_page_bytes;
  }
};

// Adds the slabs of one list. False: one of them is in another state, or is not named as its own.
inline bool add_list(SlabSums& sums, const SlabList& list, HeapId owner, SlabState state) noexcept {
  const Slab* previous = nullptr;
  for (const Slab* slab = list.first; slab != nullptr; slab = slab->next) {
    if (slab->state != state || slab->previous != previous) return false;
    if (!is_slab_named(owner, *slab)) return false;
    sums.add(*slab);
    previous = slab;
  }
  return list.last == previous;
}
inline bool add_bins(SlabSums& sums, const SlabBins& bins, ClassId id, HeapId owner,
                     SlabState state) noexcept {
  for (uint8_t bin = 0; bin < SlabBins::count; bin++) {
    const SlabList& list = bins.bins[bin];
    if (!add_list(sums, list, owner, state)) return false;
    for (const Slab* slab = list.first; slab != nullptr; slab = slab->next) {
      if (slab->class_id != id || slab->bin != bin || slab->free_count == 0) return false;
    }
  }
  return true;
}

// Blocks of a class are taken or free: nothing is lost, and nothing is there twice.
inline bool is_class_sound(const Heap& heap, ClassId id, const SlabSums& sums) noexcept {
  const size_t index = index_of(id);
  const SizeClass& row = size_class_row(id);
  const size_t blocks = size_t{heap.class_slabs[index]} * row.block_count;
  const size_t known = heap.taken_blocks[index] + sums.free_bytes / row.block_bytes;
  if (sums.slabs > heap.class_slabs[index] || known > blocks) return false;
  if (heap.purging_count != 0) return true;
  // Slabs from before the option guard_pages have more blocks than those that began since.
  return known >= heap.class_slabs[index] * size_t{room_of_slab(id).block_count};
}

inline bool are_messages_sound(const Heap& heap) noexcept {
  size_t count = 0;
  for (const RemoteMessage* at = heap.unused_messages; at != nullptr; at = at->next) {
    if (at->count.load_own() != 0 || ++count > heap.unused_message_count) return false;
  }
  return count == heap.unused_message_count;
}

inline bool Heap::is_sound() const noexcept {
  size_t slabs = 0, bytes = 0, free = 0, free_in_purged = 0, purged = 0;
  for (size_t index = 0; index < class_count; index++) {
    const ClassId class_id{static_cast<uint8_t>(index)};
    // A class without slabs has no block; were it miscounted, slab_count would tell.
    if (class_slabs[index] == 0 && taken_blocks[index] == 0) continue;
    SlabSums sums;
    if (!add_bins(sums, partly_purged[index], class_id, this->id, SlabState::partly_purged)) {
      return false;
    }
    free_in_purged += sums.free_bytes;
    if (!add_bins(sums, available[index], class_id, this->id, SlabState::available)) return false;
    if (!is_class_sound(*this, class_id, sums)) return false;
    slabs += class_slabs[index];
    bytes += class_slabs[index] * size_class_row(class_id).slab_slices * slice_bytes;
    free += sums.free_bytes;
    purged += sums.purged_bytes;
  }
  if (slabs != slab_count || bytes != slab_bytes || !are_messages_sound(*this)) return false;
  if (!empty_slabs.is_sound()) return false;
  if (free_in_purged != partly_purged_free_bytes) return false;
  if (purging_count != 0) return free <= free_bytes && purged <= purged_page_bytes;
  return free == free_bytes && purged == purged_page_bytes;
}

// A block that moves has two descriptors, and each is whole.
inline bool LargeBlock::is_sound() const noexcept {
  if (state.load_hint() == LargeState::unused) return base == 0 && slices == 0;
  if (base == 0 || base % slice_bytes != 0 || slices == 0) return false;
  if (usable_bytes == 0 || front_bytes + usable_bytes > slices * slice_bytes) return false;
  const PageEntry word = page_map.word_of(base);
  if (!word.is_large() && !is_special(word)) return false;
  return is_named(base, word, this) && is_named(base + (slices - 1) * slice_bytes, word, this);
}

// The analysis does not know that the lock of the heap is that of its slot.
inline bool are_large_blocks_sound(const Instance& heap) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  size_t count = 0, bytes = 0;
  const LargeBlock* previous = nullptr;
  const PageEntry word = PageEntry::large(static_cast<uint16_t>(heap.id));
  for (const LargeBlock* at = heap.large_blocks; at != nullptr; at = at->next_inside) {
    const uint8_t state = at->state.load_hint();
    if (state == LargeState::unused || state == LargeState::kept) return false;
    if (at->previous_inside != previous) return false;
    if (!at->is_sound() || !is_named(at->base, word, at)) return false;
    count++;
    bytes += at->usable_bytes;
    previous = at;
  }
  const size_t moving = instance_slot(heap.id).moving_count;
  if (count != heap.large_count + moving) return false;
  return moving == 0 ? bytes == heap.large_bytes : bytes >= heap.large_bytes;
}

inline bool are_ready_blocks_sound(const Instance& heap) noexcept {
  for (size_t index = 0; index < small_class_count; index++) {
    const ReadyBlocks& ready = heap.ready[index];
    const ClassId class_id{static_cast<uint8_t>(index)};
    if (ready.count > ready_blocks_max || ready.count > heap.taken_blocks[index]) return false;
    if (heap.is_checked() && ready.count != 0) return false;
    const bool is_used = (heap.used_classes[index / 64] >> (index % 64) & 1) != 0;
    if (!is_used && (heap.class_slabs[index] != 0 || ready.count != 0)) return false;
    const PageEntry word{heap.id, list_tag(class_id)};
    for (size_t i = 0; i < ready.count; i++) {
      const PageEntry found = page_map.word_of(reinterpret_cast<uintptr_t>(ready.blocks[i]));
      if (found.bits() != word.bits() && !is_special(found)) return false;
    }
  }
  return true;
}

// An instance has all its slabs in lists, the full ones too.
inline bool Instance::is_sound() const noexcept {
  if (!Heap::is_sound()) return false;
  SlabSums sums;
  for (size_t index = 0; index < class_count; index++) {
    const ClassId class_id{static_cast<uint8_t>(index)};
    if (class_slabs[index] == 0) continue;
    if (!add_bins(sums, partly_purged[index], class_id, id, SlabState::partly_purged)) return false;
    if (!add_bins(sums, available[index], class_id, id, SlabState::available)) return false;
  }
  const size_t free_before = sums.free_bytes;
  if (!add_list(sums, full, id, SlabState::full) || sums.free_bytes != free_before) return false;
  if (sums.slabs + purging_count != slab_count || footprint_bytes() > peak_bytes) return false;
  if (sums.exact != 0 && !is_checked()) return false;
  return are_ready_blocks_sound(*this) && are_large_blocks_sound(*this);
}

// An instance may end at any moment; a moment later it is counted as dead.
inline bool InstanceTable::is_sound() const noexcept {
  const uint32_t count = shared_count.load_own();
  size_t unused_count = 0, live_count = 0;
  for (uint32_t id = unused; id != 0;) {
    if (id < heap_count_max || id >= heap_count_max + count) return false;
    const InstanceSlot& slot = instance_slot(HeapId(static_cast<uint16_t>(id)));
    if (slot.shared_handle.load_hint() != 0 || slot.region != nullptr) return false;
    if (++unused_count > count) return false;
    id = slot.next_unused;
  }
  for_each_instance_slot([&live_count](const InstanceSlot& slot) noexcept {
    if (slot.shared_handle.load_hint() != 0) live_count++;
  });
  return live_count + unused_count <= count && live_count <= shared_live_count.load_own();
}

inline bool KeptBlocks::is_sound() const noexcept {
  size_t sum = 0;
  for (size_t place = 0; place < large_kept_slices; place++) {
    const LargeBlock* large = of_slices[place].load_own();
    for (; large != nullptr; large = large->next) {
      if (large->state.load_hint() != LargeState::kept || large->slices != place + 1) return false;
      if (!large->is_sound()) return false;
      sum += large->slices * slice_bytes;
    }
  }
  return sum == bytes.load_own();
}

// A list that others emptied while its thread was idle has gaps until its owner comes back.
inline bool is_list_sound(ThreadCache& cache, ClassId id) noexcept {
  void** const bottom = list_bottom(cache, id);
  void** const top = list_of(cache, id).top.load_own();
  if (top < bottom || bottom[-1] != nullptr || bottom[-2] != nullptr) return false;
  for (void** at = bottom; at != top; at++) {
    if (*at == nullptr) return false;
  }
  return true;
}

// Both sides of each class. A block lies on an allocation side only if it came there.
inline bool SidedContext::is_sound() noexcept {
  bool are_sound = cache != nullptr && states == cache->shared_mode_context.load_own()->states;
  for_each_side_of(*this, [&](const Side& side, ClassId) noexcept {
    void** const top = side.top.load_own();
    are_sound &= top >= side.bottom && side.length() <= side.room();
    are_sound &= side.bottom[-1] == nullptr && side.bottom[-2] == nullptr;
    for (void** at = side.bottom; are_sound && at != top; at++) are_sound = *at != nullptr;
    if (side.kind == SideKind::allocation) {
      are_sound &= moved[side.index].load_own() >= side.length();
    }
  });
  return are_sound;
}

inline bool ThreadCache::is_sound() noexcept {
  if (shared_state.load_own() == OwnerState::idle) return true;
  for (size_t index = 0; index < class_count; index++) {
    if (!is_list_sound(*this, ClassId{static_cast<uint8_t>(index)})) return false;
  }
  SidedContext* const sides = shared_sides.load_own();
  if (sides != nullptr && !sides->is_sound()) return false;
  for (const RemoteBatch& batch : batches) {
    if ((batch.message == nullptr) != (batch.owner == HeapId::none)) return false;
  }
  return kept.is_sound();
}

inline void audit(const InstanceTable& table) noexcept {
  if constexpr (TALUS_AUDIT == 0) return;
  if (is_audit_due(table.shared_count.load_own())) TALUS_AUDIT_SOUND(table);
}
inline void audit_instance(const Instance& heap) noexcept {
  if (is_audit_due(heap.slab_count + heap.large_count)) TALUS_AUDIT_SOUND(heap);
}
// In audit builds, at the end of each operation on a heap. A heap of many slabs is looked at now
// and then, because a look reads all of them.
inline void audit(const Heap& heap) noexcept {
  if (!is_audit_due(heap.slab_count)) return;
  if (is_instance(heap.id)) return audit_instance(static_cast<const Instance&>(heap));
  TALUS_AUDIT_SOUND(heap);
}

}  // namespace talus::core

#endif  // TALUS_HEAP_SOUND_HPP
