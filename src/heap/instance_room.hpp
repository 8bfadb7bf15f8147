// SPDX-License-Identifier: MIT
// heap/instance_room: what an instance holds free, and whether its limit leaves room for more.
//
// Owns: the limit. Invariant: an instance fails at its limit only after its empty slabs were given
// back. Called on: whoever holds the instance's lock. Must not know: how blocks are taken.
#ifndef TALUS_HEAP_INSTANCE_ROOM_HPP
#define TALUS_HEAP_INSTANCE_ROOM_HPP

#include "heap/slabs.hpp"

namespace talus {

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

}  // namespace talus

#endif  // TALUS_HEAP_INSTANCE_ROOM_HPP
