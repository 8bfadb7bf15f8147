// SPDX-License-Identifier: MIT
// paths/facts: what is known of a block that a call names.
//
// Owns: nothing. Invariant: a pointer that is no block is reported, with the name of the call. So
// is a freed block where its slab tells.
// Called on: any thread.
#ifndef TALUS_PATHS_FACTS_HPP
#define TALUS_PATHS_FACTS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/contents_check.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/special.hpp"
#include "store/large.hpp"
#include "store/slab_at.hpp"

namespace talus::core {

// The usable bytes of a block in a slab. Reports any other pointer, and a damaged trailer.
inline size_t usable_bytes_in(const Slab& slab, const void* pointer, const char* call) noexcept {
  const uint32_t index = slab.prove(pointer);
  return TALUS_LIKELY(!slab.has_trailers) ? slab.block_bytes
                                          : usable_bytes_by_state(slab, index, pointer, call);
}

// What is known about a live block. Reports any other pointer, with the name `call`.
struct BlockFacts {
  size_t usable_bytes = 0;
  LargeBlock* large = nullptr;      // null: a small one, or special
  SpecialBlock* special = nullptr;  // null: large, small, or as large as a block of a slab
  HeapId owner = HeapId::none;      // of a large one: only if that is an instance
};

TALUS_USUAL BlockFacts facts_of(void* pointer, const char* call) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const PageEntry word = page_map.word_anywhere(address);
  if (word.is_slab()) {
    const Slab& slab = prove_slab(pointer, call);
    // A copy from the middle of a block would read behind its end.
    return {usable_bytes_in(slab, pointer, call), nullptr, nullptr, word.owner()};
  }
  if (is_special(word)) {
    SpecialBlock& block = prove_special(pointer, call);
    return {block.operations().usable_bytes(block, pointer, call), nullptr, own_sized(&block)};
  }
  if (!word.is_large()) report::foreign_pointer(pointer, call);
  LargeBlock& large = prove_large(pointer, call);
  return {large.usable_bytes, &large, nullptr, owner_of_large(word)};
}

// The block of an exact slab that is in it is not the program's. Reports it.
TALUS_APART void refuse_freed_exact(HeapId owner, const void* pointer, const char* call) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const Slab& slab = *static_cast<const Slab*>(page_map.descriptor_of_owned(address));
  if (!slab.is_exact()) return;
  Held held{is_instance(owner) ? instance_slot(owner).lock : lock_of(heap_with(owner))};
  const bool is_there = page_map.word_of(address).owner() == owner;  // the slab, still
  if (is_there && slab.is_free(slab.prove(pointer))) {
    report::freed_block(pointer, slab.block_bytes, call);
  }
}
// The same before any resize. Large blocks and regions prove their blocks themselves.
TALUS_FAST void refuse_freed(const BlockFacts& facts, const void* pointer,
                             const char* call) noexcept {
  if (facts.large != nullptr || facts.special != nullptr) return;
  const bool may_be_exact = is_instance(facts.owner) || is_home_at_once(facts.usable_bytes);
  if (TALUS_UNLIKELY(may_be_exact)) refuse_freed_exact(facts.owner, pointer, call);
}

// A call asks for the size of a block, which the program may have freed. Does nothing for null.
TALUS_APART void look_at(void* pointer, const char* call) noexcept {
  if (pointer == nullptr) return;
  if (current_context().operations != nullptr) note_look(pointer, call);
  const PageEntry word = page_map.word_anywhere(reinterpret_cast<uintptr_t>(pointer));
  if (word.is_slab()) refuse_freed_exact(word.owner(), pointer, call);
}

}  // namespace talus::core

#endif  // TALUS_PATHS_FACTS_HPP
