// SPDX-License-Identifier: MIT
// store/instance_room: blocks that come back to an instance, what it holds free, and whether its
// limit leaves room for more.
//
// Owns: the limit. Invariant: an instance fails at its limit only after its empty slabs were given
// back, and with all its slabs in its lists. Called on: whoever holds the instance's lock, unless
// it says otherwise. Must not know: how blocks are taken.
#ifndef TALUS_STORE_INSTANCE_ROOM_HPP
#define TALUS_STORE_INSTANCE_ROOM_HPP

#include "store/slabs.hpp"

namespace talus {

// As give_blocks, for one block that lies in this slab of the heap.
TALUS_FAST void give_block(Heap& heap, Slab& slab, void* block) noexcept {
  give_to_slab(heap, slab, &block, 1);
  note_free_bytes(heap);
}

// free() of a small block of an instance. False: it is not the instance's now. No lock is held.
TALUS_SLOW bool release_small_inside(void* pointer, HeapId owner) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  InstanceSlot& slot = instance_slot(owner);
  {
    Locked held{slot.lock};
    if (page_map.word_of(address).owner() != owner) return false;
    give_block(*slot.heap, *static_cast<Slab*>(page_map.descriptor_of_owned(address)), pointer);
    request_purge_if_much(*slot.heap);
  }
  offer_work();
  return true;
}

// What is ready goes back to its slabs.
inline void give_ready_back(Instance& heap) noexcept {
  for_each_used_class(heap, [&heap](ClassId id) noexcept {
    ReadyBlocks& ready = heap.ready[index_of(id)];
    give_blocks(heap, ready.blocks, ready.count);
    ready.count = 0;
  });
}
// The same for any heap.
inline void rest_heap(Heap& heap) noexcept {
  if (is_instance(heap.id)) give_ready_back(static_cast<Instance&>(heap));
}

// Is there room for so many bytes more? Empty slabs make room for others.
inline bool make_room(Instance& heap, size_t bytes) noexcept {
  if (heap.has_room(bytes)) return true;
  give_ready_back(heap);
  release_empty_slabs(heap);
  return heap.has_room(bytes);
}

// An instance's lock is given up and taken again, and until this ends none of its slabs is on its
// way: one that has room is in its list, or gone, if it had become empty.
class [[nodiscard]] AtRest {
 public:
  AtRest(InstanceSlot& slot, const char* call) noexcept {
    const uintptr_t handle = slot.shared_handle.load_relaxed();  // [own] the lock
    slot.lock.give();
    registry.decaying.take();
    slot.lock.take();
    if (slot.shared_handle.load_relaxed() == handle) return;  // [own] the lock
    slot.lock.give();
    registry.decaying.give();
    report::dead_heap(handle, call);
  }
  ~AtRest() { registry.decaying.give(); }
  AtRest(const AtRest&) = delete;
  AtRest& operator=(const AtRest&) = delete;
};

// As make_room, but waits for slabs on their way before it says no: the lock may be given up.
inline bool make_room_at_rest(InstanceSlot& slot, size_t bytes, const char* call) noexcept {
  if (make_room(*slot.heap, bytes)) return true;
  if (slot.heap->purging_count == 0) return false;
  const AtRest at_rest{slot, call};
  return make_room(*slot.heap, bytes);
}

}  // namespace talus

#endif  // TALUS_STORE_INSTANCE_ROOM_HPP
