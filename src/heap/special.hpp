// SPDX-License-Identifier: MIT
// heap/special: blocks that a mode or a region (regions/region.hpp) makes in its own way.
//
// Slices of such blocks carry special_word, which names no owner, so no fast path touches them.
// Their descriptor begins with SpecialBlock. A thread that frees or resizes such a block calls the
// block's own operations, whatever mode the thread is in.
// Owns: how the heap meets special blocks. Invariant: a thread without a mode pays only one
// comparison in slow paths.
// Called on: any thread. Must not know: the modes.
#ifndef TALUS_HEAP_SPECIAL_HPP
#define TALUS_HEAP_SPECIAL_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "space/space.hpp"

namespace talus::core {

struct SpecialBlock;

// What the maker of a block does for it. The first two report a pointer that is no live block;
// `call` names the call of the program.
struct SpecialOperations {
  void (*free)(SpecialBlock& block, void* pointer) noexcept = nullptr;
  size_t (*usable_bytes)(SpecialBlock& block, void* pointer, const char* call) noexcept = nullptr;
  // Resizes or moves the block. Null: no memory, or a limit; the block is untouched then. The
  // member is null for blocks that become ordinary ones.
  void* (*reallocate)(SpecialBlock& block, void* pointer, size_t bytes,
                      bool& is_at_limit) noexcept = nullptr;
  // The handle of the instance that owns the block. Null for blocks outside instances.
  uintptr_t (*instance)(SpecialBlock& block) noexcept = nullptr;
  // Resizes the block where it is. False: it cannot, and is untouched. The member is null for
  // blocks that keep their size: they hold what is not more.
  bool (*resize_in_place)(SpecialBlock& block, size_t bytes) noexcept = nullptr;
  // Are blocks as large as those of slabs, so that a resize keeps them where it would keep those?
  // The block ends where the request ends otherwise.
  bool are_sizes_of_classes = false;
};

struct SpecialBlock {
  // Constant once used, with one exception: when a region's heap is deleted, its blocks get other
  // operations with the same free.
  Atomic<const SpecialOperations*> shared_operations;

  const SpecialOperations& operations() const noexcept {
    return *shared_operations.load_init();  // all of them are constant data
  }
};

// A third word beside the two that space knows (space/page_map.hpp).
inline constexpr PageEntry special_word{HeapId::none, 2};
static_assert(!special_word.has_no_owner() && !special_word.is_large() && !special_word.is_slab(),
              "a special block is nothing else");

TALUS_FAST bool is_special(PageEntry word) noexcept { return word.bits() == special_word.bits(); }

// Under the space lock.
struct SpecialPool {
  size_t live_bytes = 0;  // that programs asked for
  size_t live_count = 0;
  // Of these, blocks in areas of samples: they lie in ranges of address space, the rest beside.
  size_t in_space_bytes = 0, in_space_count = 0;
  size_t area_bytes = 0;  // of these areas

  void note_live(size_t bytes) noexcept {
    live_bytes += bytes;
    live_count++;
    TALUS_AUDIT_SOUND(*this);
  }
  void note_gone(size_t bytes) noexcept {
    TALUS_ASSERT(live_count != 0 && bytes <= live_bytes);
    live_bytes -= bytes;
    live_count--;
    TALUS_AUDIT_SOUND(*this);
  }
  // Without blocks there are no bytes. A block has at most PTRDIFF_MAX of them.
  bool is_sound() const noexcept {
    if (in_space_bytes > live_bytes || in_space_bytes > area_bytes) return false;
    return live_count != 0 ? live_bytes / live_count <= PTRDIFF_MAX : live_bytes == 0;
  }
};
TALUS_CONSTINIT inline SpecialPool special_pool;

// Set by a mode whose blocks end exactly where the request ends; slow paths read it.
TALUS_CONSTINIT inline Atomic<bool> shared_exact_sizes;
inline bool sizes_are_exact() noexcept { return shared_exact_sizes.load_init(); }

// The descriptor of an address with a special word. A wrong pointer may find it gone.
inline SpecialBlock* special_of(const void* pointer) noexcept {
  return static_cast<SpecialBlock*>(page_map.descriptor_of(reinterpret_cast<uintptr_t>(pointer)));
}
// The same; reports a pointer that has none.
inline SpecialBlock& prove_special(const void* pointer, const char* call) noexcept {
  SpecialBlock* block = special_of(pointer);
  if (block == nullptr) report::foreign_pointer(pointer, call);
  return *block;
}

// The same descriptor, if its block resizes in its own way. Null: there is none, or the block is as
// large as one of a slab, and resizes as those do.
inline SpecialBlock* own_sized(SpecialBlock* block) noexcept {
  return block != nullptr && !block->operations().are_sizes_of_classes ? block : nullptr;
}

inline void free_special(void* pointer) noexcept {
  SpecialBlock& block = prove_special(pointer, "free");
  block.operations().free(block, pointer);
}

}  // namespace talus::core

#endif  // TALUS_HEAP_SPECIAL_HPP
