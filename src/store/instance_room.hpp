// SPDX-License-Identifier: MIT
// store/instance_room: what an instance holds free, and the room that its limit leaves.
//
// Owns: the limit. Invariant: an instance fails at its limit only after it returned its empty
// slabs, and with all its slabs in its lists.
// Called on: a thread that holds the instance's lock, unless a function says otherwise.
// Must not know: how blocks are allocated.
#ifndef TALUS_STORE_INSTANCE_ROOM_HPP
#define TALUS_STORE_INSTANCE_ROOM_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/slabs.hpp"

namespace talus::core {

// Like give_blocks(), for one block that lies in this slab of the heap.
TALUS_FAST void give_block(Heap& heap, Slab& slab, void* block) noexcept {
  TALUS_ASSERT(is_instance(heap.id));
  give_to_slab(heap, slab, &block, 1);
  note_free_bytes(heap);
  audit(heap);
}

// free() of a small block of an instance. False: it is not the instance's now. The caller holds no
// lock.
TALUS_SLOW bool free_small_inside(void* pointer, HeapId owner) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  InstanceSlot& slot = instance_slot(owner);
  {
    Held held{slot.lock};
    if (page_map.word_of(address).owner() != owner) return false;
    give_block(*slot.heap, *static_cast<Slab*>(page_map.descriptor_of_owned(address)), pointer);
    request_purge_if_much(*slot.heap);
  }
  offer_work();
  return true;
}

// Returns ready blocks to their slabs.
inline void give_ready_back(Instance& heap) noexcept {
  for_each_used_class(heap, [&heap](ClassId id) noexcept {
    ReadyBlocks& ready = heap.ready[index_of(id)];
    const size_t count = ready.count;
    ready.count = 0;  // first: then they count as handed out until they are in their slabs
    give_blocks(heap, ready.blocks, count);
  });
}
// The same for any heap; only instances have ready blocks.
inline void rest_heap(Heap& heap) noexcept {
  if (is_instance(heap.id)) give_ready_back(static_cast<Instance&>(heap));
}

// Is there room for this many more bytes? Returning empty slabs may make room.
inline bool make_room(Instance& heap, size_t bytes) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  if (heap.has_room(bytes)) return true;
  give_ready_back(heap);
  return_empty_slabs(heap);
  return heap.has_room(bytes);
}

// Unlocks an instance and locks it again. While this lives, no slab is being purged: each slab with
// free blocks is in its list, or gone if it became empty.
class [[nodiscard]] AtRest {
 public:
  AtRest(InstanceSlot& slot, const char* call) noexcept {
    TALUS_ASSERT(slot.lock.is_own() && !registry.decaying.is_own());
    const uintptr_t handle = slot.shared_handle.load_own();  // under the lock
    slot.lock.unlock();
    registry.decaying.lock();
    slot.lock.lock();
    if (slot.shared_handle.load_own() == handle) return;  // under the lock
    slot.lock.unlock();
    registry.decaying.unlock();
    report::dead_heap(handle, call);
  }
  ~AtRest() { registry.decaying.unlock(); }
  AtRest(const AtRest&) = delete;
  AtRest& operator=(const AtRest&) = delete;
};

// Like make_room(), but waits for slabs that are being purged before it fails: the lock may be
// unlocked meanwhile.
inline bool make_room_at_rest(InstanceSlot& slot, size_t bytes, const char* call) noexcept {
  if (make_room(*slot.heap, bytes)) return true;
  if (slot.heap->purging_count == 0) return false;
  const AtRest at_rest{slot, call};
  return make_room(*slot.heap, bytes);
}

}  // namespace talus::core

#endif  // TALUS_STORE_INSTANCE_ROOM_HPP
