// SPDX-License-Identifier: MIT
// store/slab_at: the slab in which a freed pointer lies, as the page map says.
//
// Owns: nothing. Called on: any thread; slab_of() under the lock of the heap. Must not know: how
// slabs begin and end.
#ifndef TALUS_STORE_SLAB_AT_HPP
#define TALUS_STORE_SLAB_AT_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"

namespace talus::core {

// The slab of a pointer that was this heap's when it was freed. The slab can have died since only
// if the pointer was freed twice.
TALUS_FAST Slab& slab_of(HeapId owner, void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const PageMap::Place place = page_map.place_of(address);
  if (TALUS_UNLIKELY(place.word().owner() != owner)) report::foreign_pointer(pointer, "free");
  return *static_cast<Slab*>(place.descriptor());
}

// The slab in which a pointer lies whose entry named one just now. Another thread may have returned
// it meanwhile, after a free of the same block; that is reported.
TALUS_USUAL const Slab& prove_slab(const void* pointer, const char* call) noexcept {
  const PageMap::Found found = page_map.look(reinterpret_cast<uintptr_t>(pointer));
  if (TALUS_UNLIKELY(!found.word.is_slab())) report::foreign_pointer(pointer, call);
  return *static_cast<const Slab*>(found.descriptor);
}

// Is this the start of a block in a slab, and nothing tells whether the program has it?
TALUS_FAST bool is_quick_block(const void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const PageMap::Found found = page_map.place_of(address).look();
  return found.word.is_slab() &&
         static_cast<const Slab*>(found.descriptor)->is_quick_block(pointer);
}

// Is the block that was looked up still the one of this slab with this index? A caller that has
// claimed its state since (slab/block_states.hpp) may rely on the answer.
TALUS_FAST bool is_still_at(const Slab& slab, uint32_t index, const void* block) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  const PageMap::Found found = page_map.place_of(address).look();
  return found.word.is_slab() && found.descriptor == &slab &&
         slab.base + size_t{index} * slab.block_bytes == address;
}

}  // namespace talus::core

#endif  // TALUS_STORE_SLAB_AT_HPP
