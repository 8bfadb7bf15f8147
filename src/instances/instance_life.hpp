// SPDX-License-Identifier: MIT
// instances/instance_life: how instances begin and end.
//
//   make_instance      an unused slot, or one more; returns its handle
//   clear_instance     all blocks end, the instance stays
//   destroy_instance   all blocks end, and so does the instance
//   delete_instance    the blocks live on, in a thread's heap or in their region; the instance ends
//
// Owns: the unused slots, and the way of slabs out of an instance: one step for each slab, however
// many blocks live in it. Invariants: an instance ends under its lock, with all its slabs in its
// lists; the ending thread waits for slabs that are being purged. A handle ends before the memory
// behind it goes.
// Called on: any thread, without locks.
#ifndef TALUS_INSTANCES_INSTANCE_LIFE_HPP
#define TALUS_INSTANCES_INSTANCE_LIFE_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "sync/lock_rank.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/holes.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "regions/region.hpp"
#include "regions/region_life.hpp"
#include "regions/region_request.hpp"
#include "regions/region_words.hpp"
#include "store/instance_large.hpp"
#include "store/instance_room.hpp"
#include "store/large.hpp"
#include "store/slabs.hpp"
#include "cache/idle_caches.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/instance_region.hpp"
#include "instances/instance_from.hpp"

namespace talus::core {

// The lock of a living instance, all of whose slabs are in its lists.
class [[nodiscard]] InsideWhole {
 public:
  InsideWhole(uintptr_t handle, const char* call) noexcept : inside_{handle, call} {
    while (inside_.heap().purging_count != 0) {
      inside_.slot().lock.unlock();
      { Held waiting{registry.decaying}; }
      inside_.slot().lock.lock();
      if (inside_.slot().shared_handle.load_own() != handle) {  // under the lock
        inside_.slot().lock.unlock();
        report::dead_heap(handle, call);
      }
    }
  }
  Instance& heap() const noexcept { return inside_.heap(); }
  InstanceSlot& slot() const noexcept { return inside_.slot(); }

 private:
  Inside inside_;
};

// Calls visit(slab) for each slab of a whole instance; visit may remove it from its list.
template <typename Visit>
void for_each_slab(Instance& heap, Visit visit) noexcept {
  const auto visit_list = [&visit](const SlabList& list) noexcept {
    for (Slab* slab = list.first; slab != nullptr;) {
      Slab* next = slab->next;
      visit(*slab);
      slab = next;
    }
  };
  for_each_used_class(heap, [&](ClassId id) noexcept {
    for (const SlabList& bin : heap.available[index_of(id)].bins) visit_list(bin);
    for (const SlabList& bin : heap.partly_purged[index_of(id)].bins) visit_list(bin);
  });
  visit_list(heap.full);
}

// Calls visit(block) for each block of a slab that is not free.
template <typename Visit>
void for_each_block_out(const Slab& slab, Visit visit) noexcept {
  for (uint32_t index = next_block(slab, 0, false); index < slab.block_count;
       index = next_block(slab, index + 1, false)) {
    visit(reinterpret_cast<void*>(slab.base + size_t{index} * slab.block_bytes));
  }
}

inline void note_all_free(Instance& heap) noexcept {
  if (!is_told_of_frees()) return;
  give_ready_back(heap);
  for_each_slab(heap, [](const Slab& slab) noexcept { for_each_block_out(slab, note_lost); });
  for (LargeBlock* large = heap.large_blocks; large != nullptr; large = large->next_inside) {
    note_lost(start_of(*large));
  }
}

inline void slab_of_instance_to_unused(Instance& heap, Slab& slab) noexcept {
  TALUS_ASSERT(slab.state != SlabState::purging && slab.state != SlabState::unused);
  if (slab.state == SlabState::available) return slab_available_to_unused(heap, slab);
  if (slab.state == SlabState::full) {
    heap.full.remove(slab);
  } else {
    heap.partly_purged[index_of(slab.class_id)].remove(slab);
  }
  slab_to_unused(heap, slab);
}

// No slab is left: the counts start again.
inline void forget_slabs(Instance& heap) noexcept {
  for_each_used_class(heap, [&heap](ClassId id) noexcept {
    heap.taken_blocks[index_of(id)] = 0;
    heap.ready[index_of(id)].count = 0;
  });
  for (uint64_t& bits : heap.used_classes) bits = 0;
  heap.partly_purged_free_bytes = 0;
  heap.free_mark = LowMark{};
  tell_free_bytes(heap);
  TALUS_ASSERT(heap.slab_count == 0 && heap.free_bytes == 0);
  TALUS_ASSERT(heap.full.first == nullptr && heap.purging_count == 0);
}

// Returns all memory of an instance to address space.
inline void empty_instance(Instance& heap) noexcept {
  note_all_free(heap);
  for_each_slab(heap, [&heap](Slab& slab) noexcept { slab_of_instance_to_unused(heap, slab); });
  forget_slabs(heap);
  while (heap.large_blocks != nullptr) give_large_of(heap, *heap.large_blocks);
  TALUS_ASSERT(heap.footprint_bytes() == 0 && heap.large_count == 0);
  audit_instance(heap);
}

// From full, partly_purged or available, with its blocks, under the locks of both heaps.
inline void slab_of_instance_changes_hands(Instance& giver, Heap& taker, Slab& slab) noexcept {
  slab.be_usual();
  if (slab.state == SlabState::partly_purged)
    slab_partly_purged_to_available(giver, slab, slab.free_count);
  if (slab.state == SlabState::available) {
    if (slab.is_empty()) return slab_available_to_unused(giver, slab);
    return slab_changes_hands(giver, taker, slab);
  }
  giver.full.remove(slab);
  count_slab(giver, slab, -1);
  rename_slab(taker, slab);
  slab.enter(SlabState::full);
  taker.taken_blocks[index_of(slab.class_id)] += slab.block_count;
  count_slab(taker, slab, +1);
  audit(taker);
}

// Any thread may free a block from the moment its word is set, so its descriptor is not touched.
inline void large_blocks_change_hands(Instance& heap) noexcept {
  while (LargeBlock* large = heap.large_blocks) {
    unlink_large(heap, *large);
    const uintptr_t first = large->base;
    const uintptr_t last = first + (large->slices - 1) * slice_bytes;
    Held held{space.lock()};
    if (last != first) rename_slice(held, last, large_word(HeapId::none), large);
    rename_slice(held, first, large_word(HeapId::none), large);
  }
}

// The id of a slot without an instance, with a descriptor; 0: no memory, or too many are alive. The
// caller holds the registry's lock.
inline size_t take_instance_slot(Held<RegistryLock>&) noexcept TALUS_REQUIRES(registry.lock) {
  if (const uint32_t id = instance_table.unused) {
    instance_table.unused = instance_slot(HeapId(static_cast<uint16_t>(id))).next_unused;
    return id;
  }
  const uint32_t count = instance_table.shared_count.load_own();  // registry's lock
  const size_t id = heap_count_max + count;
  if (id > instance_id_max) return 0;
  Atomic<InstanceSlot*>& part = instance_table.shared_parts[id / InstanceTable::part_slots];
  Held held{space.lock()};
  if (count == 0) part.store_release(instance_table.spare.slots);
  if (part.load_own() == nullptr) {  // registry's lock
    void* slots = space.take_metadata(held, InstanceTable::part_slots * sizeof(InstanceSlot));
    if (slots == nullptr) return 0;
    part.store_release(static_cast<InstanceSlot*>(slots));
  }
  void* memory = space.take_metadata(held, sizeof(Instance));  // zero, as its members begin
  if (memory == nullptr && instance_table.spare.used_heaps < SpareInstances::count) {
    memory = instance_table.spare.heaps[instance_table.spare.used_heaps++];
  }
  if (memory == nullptr) return 0;
  auto* heap = static_cast<Instance*>(memory);
  heap->id = HeapId(static_cast<uint16_t>(id));
  part.load_own()[id % InstanceTable::part_slots].heap = heap;  // registry's lock
  instance_table.shared_count.store_release(count + 1);
  return id;
}

inline void copy_name(Instance& heap, const char* name) noexcept {
  size_t length = 0;
  while (name != nullptr && name[length] != '\0' && length < Instance::name_bytes_max - 1) {
    heap.name[length] = name[length];
    length++;
  }
  TALUS_ASSERT(length < Instance::name_bytes_max);
  heap.name[length] = '\0';
}

struct InstanceRequest {
  const char* name = nullptr;
  size_t limit_bytes = 0;  // 0: none
  InstanceMode mode = InstanceMode::as_process;
};

inline uintptr_t make_instance_once(const InstanceRequest& request, RegionHeap* region) noexcept {
  Held registry_held{registry.lock};
  const size_t id = take_instance_slot(registry_held);
  if (id == 0) return 0;
  InstanceSlot& slot = instance_slot(HeapId(static_cast<uint16_t>(id)));
  Held held{slot.lock};
  Instance& heap = *slot.heap;
  TALUS_ASSERT(slot.shared_handle.load_own() == 0 && slot.region == nullptr);
  TALUS_ASSERT(heap.footprint_bytes() == 0 && heap.free_bytes == 0);
  copy_name(heap, request.name);
  heap.limit_bytes = request.limit_bytes;
  heap.mode = request.mode;
  heap.peak_bytes = 0;
  heap.shared_thread_count.store_own(1);  // the program: it is not abandoned
  const uintptr_t handle = ++slot.generation << 16 | id;
  slot.region = region;
  if (region != nullptr) {
    region->shared_operations.store_init(&region_operations);
    region->handle = handle;
    region->limit_bytes = request.limit_bytes;
  }
  slot.shared_handle.store_release(handle);
  instance_table.shared_live_count.own_add(1);  // under the registry's lock
  audit(instance_table);
  return handle;
}

// The handle of a new instance; 0: no memory, or too many are alive.
inline uintptr_t make_instance(const InstanceRequest& request,
                               RegionHeap* region = nullptr) noexcept {
  return allocate_with(sizeof(Instance),
                       [=]() noexcept { return make_instance_once(request, region); });
}
// The same with a region, for a request that passed is_possible(); 0 also if the region is refused.
inline uintptr_t make_instance_in(const RegionRequest& place, const InstanceRequest& request,
                                  RegionError& refusal) noexcept {
  RegionHeap* region = make_region(place, refusal);
  if (region == nullptr) return 0;
  const uintptr_t handle = make_instance(request, region);
  refusal = handle == 0 ? RegionError::memory : RegionError::none;
  if (handle == 0) end_region(*region);
  return handle;
}

// The handle ends here. The caller holds the instance's lock.
inline void end_handle(const InsideWhole& inside) noexcept {
  TALUS_ASSERT(inside.slot().lock.is_own() && inside.heap().purging_count == 0);
  inside.slot().shared_handle.store_release(0);
  inside.heap().shared_thread_count.store_own(0);  // under the lock
}
inline void count_instance_dead() noexcept {
  Held held{registry.lock};
  TALUS_ASSERT(instance_table.shared_live_count.load_own() != 0);  // the registry's lock
  instance_table.shared_live_count.own_add(~uint32_t{0});          // under the registry's lock
  audit(instance_table);
}
inline void retire_instance(HeapId id) noexcept {
  count_instance_dead();
  give_instance_slot(id);
}

// Like note_all_free(), for a region's blocks. Without its lock, because the walk takes it.
inline void note_region_free(uintptr_t handle, const char* call) noexcept {
  const RegionHeap* region = region_of(handle, call);
  if (region == nullptr || !region->has_page_entries || !is_told_of_frees()) return;
  walk_region(handle, call, [](void* block, size_t) noexcept {
    note_lost(block);
    return true;
  });
}

inline void clear_instance(uintptr_t handle, const char* call) noexcept {
  {
    const MaybeWorking working{cache_to_tell()};
    note_region_free(handle, call);
    const InsideWhole inside{handle, call};
    if (inside.slot().region != nullptr) empty_region(*inside.slot().region);
    empty_instance(inside.heap());
  }
  offer_work();
}

inline void destroy_instance(uintptr_t handle, const char* call) noexcept {
  RegionHeap* region = nullptr;
  {
    const MaybeWorking working{cache_to_tell()};
    note_region_free(handle, call);
    const InsideWhole inside{handle, call};
    end_handle(inside);
    region = inside.slot().region;
    inside.slot().region = nullptr;
    empty_instance(inside.heap());
  }
  if (region != nullptr) end_region(*region);
  retire_instance(id_in_handle(handle));
  offer_work();
}

// The instance's region, if there is one, lives as long as blocks in it; returned if none do.
inline RegionHeap* leave_region(const InsideWhole& inside) noexcept {
  RegionHeap* region = inside.slot().region;
  if (region == nullptr) return nullptr;
  region->shared_operations.store_own(&left_region_operations);  // under the lock
  if (region->live_count != 0) return nullptr;
  inside.slot().region = nullptr;
  return region;
}

// False: no heap could take the blocks, and there is no memory for one; nothing changed.
inline bool delete_instance(uintptr_t handle, const char* call) noexcept {
  ThreadCache* cache = cache_behind(current_context());
  Heap* taker = cache != nullptr ? cache->heap : abandoned_heap();
  if (taker == nullptr) return false;
  RegionHeap* region = nullptr;
  bool is_over = false;
  {
    // No thread may begin to purge while this one already holds the other heap's lock.
    Held decaying{registry.decaying};
    const LocksOfOneRank in_order;  // ids of instances are above those of threads' heaps
    Held taker_held{lock_of(*taker)};
    const InsideWhole inside{handle, call};
    Instance& heap = inside.heap();
    end_handle(inside);
    give_ready_back(heap);
    for_each_slab(heap,
                  [&](Slab& slab) noexcept { slab_of_instance_changes_hands(heap, *taker, slab); });
    forget_slabs(heap);
    large_blocks_change_hands(heap);
    TALUS_ASSERT(heap.footprint_bytes() == 0);
    region = leave_region(inside);
    is_over = inside.slot().region == nullptr;
    note_free_bytes(*taker);
    request_purge_if_much(*taker);
  }
  if (region != nullptr) end_region(*region);
  count_instance_dead();
  if (is_over) give_instance_slot(id_in_handle(handle));
  offer_work();
  return true;
}

}  // namespace talus::core

#endif  // TALUS_INSTANCES_INSTANCE_LIFE_HPP
