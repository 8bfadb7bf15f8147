// SPDX-License-Identifier: MIT
// store/descriptor_pool: descriptors of slabs that have no blocks.
//
// Owns: a list for each class, because a descriptor is of one class for ever. Invariant:
// is_sound(). Called on: under the space lock. Must not know: heaps.
#ifndef TALUS_STORE_DESCRIPTOR_POOL_HPP
#define TALUS_STORE_DESCRIPTOR_POOL_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/block_states.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"

namespace talus::core {

// Descriptors without blocks, by class. All heaps share them, because slabs change hands.
struct DescriptorPool : MadeItems {
  Slab* unused[class_count] TALUS_GUARDED_BY(space.lock()) = {};

  // Descriptors made = those of slabs + unused ones, each in the list of its class.
  bool is_sound() const noexcept TALUS_REQUIRES(space.lock()) {
    size_t unused_count = 0;
    for (size_t index = 0; index < class_count; index++) {
      for (const Slab* slab = unused[index]; slab != nullptr; slab = slab->next) {
        if (slab->state != SlabState::unused || slab->block_count != 0) return false;
        if (index_of(slab->class_id) != index || slab->free_count != 0) return false;
        unused_count++;
      }
    }
    return is_whole(unused_count);
  }
};
TALUS_CONSTINIT inline DescriptorPool descriptor_pool;

// In audit builds, where a slab begins or ends.
inline void audit(const DescriptorPool& pool) noexcept TALUS_REQUIRES(space.lock()) {
  if (is_audit_due(pool.made_count())) TALUS_AUDIT_SOUND(pool);
}

// A descriptor without blocks goes back to the pool.
inline void put_unused(Held<SpaceLock>&, Slab& slab) noexcept TALUS_REQUIRES(space.lock()) {
  Slab*& unused = descriptor_pool.unused[index_of(slab.class_id)];
  slab.next = unused;
  unused = &slab;
  descriptor_pool.note_back();
}

// Gives a descriptor room for the states of its blocks; false: no memory.
TALUS_APART bool attach_states(Held<SpaceLock>& held, Slab& slab) noexcept
    TALUS_REQUIRES(space.lock()) {
  if (slab.states != nullptr) return true;
  const size_t bytes = state_bytes(size_class_row(slab.class_id).block_count);
  slab.states = static_cast<Atomic<uint8_t>*>(space.take_metadata(held, bytes));
  return slab.states != nullptr;
}

}  // namespace talus::core

#endif  // TALUS_STORE_DESCRIPTOR_POOL_HPP
