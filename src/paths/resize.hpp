// SPDX-License-Identifier: MIT
// paths/resize: zeroed blocks, the usable size of a block, and changing its size.
//
// Owns: the answers about a live block that are not malloc or free. Invariants: contents survive up
// to the smaller of the old and the new usable size. After a failure the block is untouched.
// Called on: any thread.
#ifndef TALUS_PATHS_RESIZE_HPP
#define TALUS_PATHS_RESIZE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"
#include "slab/contents.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/special.hpp"
#include "regions/region_words.hpp"
#include "store/instance_large.hpp"
#include "store/large.hpp"
#include "store/large_move.hpp"
#include "cache/idle_caches.hpp"
#include "cache/large_cache.hpp"
#include "cache/medium_lists.hpp"
#include "cache/refill.hpp"
#include "paths/alloc.hpp"
#include "paths/free.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/facts.hpp"
#include "paths/free_slow.hpp"
#include "paths/instance_blocks.hpp"
#include "paths/instance_region.hpp"
#include "paths/stays.hpp"

namespace talus::core {

// A medium block for `bytes` at a multiple of `alignment`, or a large one; null: no memory. At
// least one of the two must exceed small_bytes_max.
inline BlockMade allocate_above_small(ThreadCache* cache, size_t bytes, size_t alignment) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment));
  TALUS_ASSERT(bytes > small_bytes_max || alignment > small_bytes_max);
  const bool is_plain = current_context().operations == nullptr;
  if (is_plain && is_aligned_anyway(alignment, bytes)) {
    return allocate_above_fast(*cache, bytes, Fit::exact);
  }
  if (!has_class(bytes, alignment)) {
    return allocate_large(cache, bytes, alignment > slice_bytes ? alignment : slice_bytes);
  }
  return allocate_medium(cache, class_of_aligned(bytes, alignment), Fit::exact);
}

// A zeroed medium or large block; null: no memory.
TALUS_USUAL void* allocate_zeroed_large(size_t bytes, size_t alignment = block_alignment) noexcept {
  ThreadCache* cache = cache_behind(current_context());
  const MaybeWorking working{cache};
  BlockMade made{make_by_mode({bytes, alignment, 0, Zeroed::yes}), Zeroed::yes};
  if (TALUS_LIKELY(made.block == nullptr)) made = allocate_above_small(cache, bytes, alignment);
  if (made.block == nullptr) return nullptr;
  if (made.zeroed == Zeroed::no) {
    const bool purged =
        bytes >= calloc_purge_bytes_min && purge_pages(made.block, usable_bytes_of_large(bytes));
    if (!purged) clear_bytes(made.block, bytes);
  }
  note_zeroed(made.block, bytes);
  return made.block;
}

TALUS_SLOW void* allocate_zeroed_slow(size_t bytes) noexcept {
  return allocate_with(bytes, [bytes]() noexcept { return allocate_zeroed_large(bytes); });
}

// A zeroed block; null: no memory. Does not touch pages that just came from the kernel.
inline void* allocate_zeroed(size_t bytes) noexcept {
  if (bytes > small_bytes_max) return allocate_zeroed_slow(bytes);
  void* block = allocate(bytes);
  if (block != nullptr) clear_bytes(block, bytes);
  return block;
}

// The usable bytes of a block. An instance may live in the block: the call only asks, and touches
// nothing.
TALUS_SLOW size_t usable_size(void* pointer) noexcept {
  constexpr const char* call = "malloc_usable_size";
  if (pointer == nullptr) return 0;
  const PageEntry now = page_map.word_anywhere(reinterpret_cast<uintptr_t>(pointer));
  if (TALUS_LIKELY(!is_special(now))) return facts_of(pointer, call).usable_bytes;
  const NamedBefore found = named_of_block(pointer);
  const PageEntry word = PageEntry::from_bits(found.word_bits);
  if (word.is_slab()) {
    const Slab& slab = *static_cast<Slab*>(found.descriptor);
    return usable_bytes_in(slab, pointer, call);
  }
  if (word.is_large()) {
    const LargeBlock& large = *static_cast<LargeBlock*>(found.descriptor);
    if (start_of(large) == pointer) return large.usable_bytes;
  }
  if (found.descriptor == nullptr || !is_special(word)) report::foreign_pointer(pointer, call);
  auto& special = *static_cast<SpecialBlock*>(found.descriptor);
  return special.operations().usable_bytes(special, pointer, call);
}

// The same for the program, which may ask for a block that it freed.
TALUS_SLOW size_t usable_size_asked(void* pointer) noexcept {
  look_at(pointer, "malloc_usable_size");
  return usable_size(pointer);
}

// The same for programs that ask for every block that they allocate and free, as redis does to know
// its size. One look-up, one proof, and no call.
TALUS_FAST size_t usable_size_at_hand(void* pointer) noexcept {
  PageMap::Place place;
  // leaves: null, beyond the page map's window, no address of ours
  if (TALUS_LIKELY(page_map.find_near(reinterpret_cast<uintptr_t>(pointer), place))) {
    const PageMap::Found found = place.look();
    if (TALUS_LIKELY(found.word.is_slab())) {
      const Slab& slab = *static_cast<Slab*>(found.descriptor);
      if (TALUS_LIKELY(slab.is_quick_block(pointer))) return slab.block_bytes;
    }
  }
  return usable_size_asked(pointer);  // leaves: large, special, one to look at; no block
}

// Does a block of `usable` bytes in a slab serve `bytes` without much waste?
inline bool fits_without_waste(size_t usable, size_t bytes) noexcept {
  return bytes <= usable && bytes >= least_bytes_of(usable);
}

// A program that grows a block by little, or once it is medium, will grow it again. Such a block
// moves to a range of its own, which can grow in place.
inline bool may_grow_on(size_t usable, size_t bytes) noexcept {
  if (bytes <= small_bytes_max || bytes <= usable) return false;
  return usable > small_bytes_max || bytes - usable < usable / 4;
}

// Makes a large block hold `bytes` in place; false: it cannot. Fewer bytes are always possible.
inline bool resize_large(const BlockFacts& facts, size_t bytes) noexcept {
  if (bytes < facts.usable_bytes) {
    note_cut(static_cast<char*>(start_of(*facts.large)) + bytes, facts.usable_bytes - bytes);
  }
  return resize_large(*facts.large, facts.owner, bytes);
}

// Resizes the block in place; false: it cannot. No mode is told of the block.
inline bool resize_in_place(const BlockFacts& facts, size_t bytes) noexcept {
  if (facts.special != nullptr) return bytes == facts.usable_bytes;
  if (facts.large == nullptr || facts.large->front_bytes != 0) {
    return fits_without_waste(facts.usable_bytes, bytes);
  }
  return bytes > small_bytes_max && resize_large(facts, bytes);
}

// Makes the block hold `bytes` in place; returns what a large one no longer needs.
inline bool expand_to(const BlockFacts& facts, size_t bytes) noexcept {
  if (TALUS_UNLIKELY(facts.special != nullptr)) {
    const auto resize = facts.special->operations().resize_in_place;
    if (resize != nullptr) return resize(*facts.special, bytes);
  }
  if (facts.large == nullptr || facts.large->front_bytes != 0) return bytes <= facts.usable_bytes;
  // A range of its own, for its alignment, that holds little.
  if (bytes <= facts.usable_bytes && facts.usable_bytes <= small_bytes_max) return true;
  return resize_large(facts, bytes > small_bytes_max ? bytes : small_bytes_max + 1);
}

// Runs resize(facts), which says whether the block holds `bytes` in place. Modes are told.
template <typename Resize>
bool in_place(void* pointer, size_t bytes, const char* call, Resize resize) noexcept {
  const BlockFacts facts = facts_of(pointer, call);
  refuse_freed(facts, pointer, call);
  bool fits = false;
  {
    const MaybeWorking working{cache_behind(current_context())};
    begin_resize(pointer);
    fits = resize(facts);
    end_resize(pointer, facts.usable_bytes, fits ? pointer : nullptr, bytes);
  }
  offer_work();
  return fits;
}

// Keeps a block that no other block can replace, and returns what a large one no longer needs.
// False: it must grow, and is untouched.
inline bool shrinks_in_place(void* pointer, size_t bytes, const char* call) noexcept {
  return in_place(pointer, bytes, call, [bytes](const BlockFacts& facts) noexcept {
    const bool is_small = facts.usable_bytes <= small_bytes_max;
    return bytes <= facts.usable_bytes && (is_small || expand_to(facts, bytes));
  });
}

// Resizes a block in place, or moves it to an ordinary block of its owner. Null: no memory, or the
// limit of the instance.
TALUS_USUAL void* reallocate_plain(ThreadCache* cache, const BlockFacts& facts, void* pointer,
                                   size_t bytes, bool& is_at_limit) noexcept {
  if (resize_in_place(facts, bytes)) return pointer;
  const bool is_inside = is_instance(facts.owner);
  const bool may_move_pages = facts.large != nullptr && facts.large->front_bytes == 0;
  if (may_move_pages && bytes > small_bytes_max && bytes < PTRDIFF_MAX - slice_bytes) {
    return is_inside ? move_large_inside(*facts.large, facts.owner, bytes, is_at_limit)
                     : move_large(*facts.large, bytes);
  }
  void* moved = nullptr;
  if (TALUS_UNLIKELY(is_inside)) {
    const size_t room = keeps_trailers() ? with_trailer(bytes) : bytes;
    const Request request{room, block_alignment, "realloc"};
    moved = allocate_inside_once(handle_of(facts.owner), request, is_at_limit).block;
  } else {
    const bool is_for_slab = bytes <= medium_bytes_max && !may_grow_on(facts.usable_bytes, bytes);
    moved = is_for_slab ? allocate_on(cache, class_of(bytes), Fit::exact).block
                        : allocate_large(cache, bytes, slice_bytes).block;
  }
  if (moved == nullptr) return nullptr;
  copy_bytes(moved, pointer, facts.usable_bytes < bytes ? facts.usable_bytes : bytes);
  note_cut(pointer, facts.usable_bytes);
  free_by_modes(cache, pointer);
  return moved;
}

// A block that a mode makes takes the contents of the old one, which ends. Null: no mode makes one.
TALUS_APART void* move_to_mode(ThreadCache* cache, const BlockFacts& facts, void* pointer,
                               size_t bytes) noexcept {
  void* special = make_by_mode({bytes, block_alignment, 0});
  if (special == nullptr) return nullptr;
  copy_bytes(special, pointer, facts.usable_bytes < bytes ? facts.usable_bytes : bytes);
  note_cut(pointer, facts.usable_bytes);
  free_by_modes(cache, pointer);
  return special;
}

// The same as reallocate_once(). Observers are told around it.
TALUS_USUAL void* reallocate_untold(ThreadCache* cache, const BlockFacts& facts, void* pointer,
                                    size_t bytes, bool& is_at_limit) noexcept {
  if (TALUS_UNLIKELY(facts.special != nullptr)) {
    SpecialBlock& block = *facts.special;
    if (block.operations().reallocate != nullptr) {
      return block.operations().reallocate(block, pointer, bytes, is_at_limit);
    }
  }
  // A block of an instance stays in it.
  if (TALUS_UNLIKELY(current_context().operations != nullptr) && !is_instance(facts.owner)) {
    if (void* special = move_to_mode(cache, facts, pointer, bytes)) return special;
  }
  return reallocate_plain(cache, facts, pointer, bytes, is_at_limit);
}

TALUS_USUAL void* reallocate_once(void* pointer, size_t bytes, bool& is_at_limit) noexcept {
  const BlockFacts facts = facts_of(pointer, "realloc");
  refuse_freed(facts, pointer, "realloc");
  ThreadCache* cache = cache_behind(current_context());
  const MaybeWorking working{cache};
  begin_resize(pointer);
  void* moved = reallocate_untold(cache, facts, pointer, bytes, is_at_limit);
  end_resize(pointer, facts.usable_bytes, moved, bytes);
  return moved;
}

// A small block of the calling thread's heap becomes another small one.
TALUS_FAST void* reallocate_small(void* pointer, size_t usable, size_t bytes) noexcept {
  TALUS_ASSERT(bytes <= small_bytes_max);
  void* moved = allocate(bytes);
  if (moved == nullptr) return bytes <= usable ? pointer : nullptr;
  copy_bytes(moved, pointer, usable < bytes ? usable : bytes);
  free_block(pointer);
  return moved;
}

// The short ways of reallocate_or() in a thread with two-sided lists, whose modes know of no block
// in a slab. A block that moves is popped from one side and pushed on the other, so modes learn of
// it as of malloc and free. Null: the slow path decides.
TALUS_APART void* reallocate_by_sides(void* pointer, size_t bytes,
                                      const ThreadContext& context) noexcept {
  if (!resizes_untold(context)) return nullptr;
  const auto [word, descriptor] = page_map.look(reinterpret_cast<uintptr_t>(pointer));
  if (!word.is_slab() || is_instance(word.owner())) return nullptr;
  const Slab& slab = *static_cast<Slab*>(descriptor);
  slab.prove(pointer);
  if (bytes <= slab.block_bytes && bytes >= slab.least_bytes) return pointer;
  const bool is_small = bytes <= small_bytes_max && word.owner() == context.id;
  return is_small && !slab.has_trailers ? reallocate_small(pointer, slab.block_bytes, bytes)
                                        : nullptr;
}

TALUS_SLOW void* reallocate_slow(void* pointer, size_t bytes) noexcept {
  const ThreadContext& context = current_context();
  if (TALUS_UNLIKELY(context.operations != nullptr)) {
    if (stays_by_mode(pointer, bytes, context)) return pointer;
    if (void* resized = reallocate_by_sides(pointer, bytes, context)) return resized;
  }
  void* moved = allocate_within_limit(bytes, [=](bool& is_at_limit) noexcept {
    return reallocate_once(pointer, bytes, is_at_limit);
  });
  if (TALUS_UNLIKELY(moved == nullptr) && shrinks_in_place(pointer, bytes, "realloc")) {
    return pointer;
  }
  offer_work();
  return moved;
}

// What to do with a block that must change; entry points that set errno have their own.
using ReallocateSmall = void* (*)(void* pointer, size_t usable, size_t bytes);
using ReallocateSlow = void* (*)(void* pointer, size_t bytes);

// realloc of a live block to at least one byte. Most blocks grow by a few bytes and stay in place:
// one look-up, one proof, and no call.
template <ReallocateSmall Small, ReallocateSlow Slow>
TALUS_FAST void* reallocate_or(void* pointer, size_t bytes) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const ThreadContext& context = current_context();
  PageMap::Place place;
  // leaves: a context that is no heap; beyond the page map's window, or no address of ours
  if (TALUS_UNLIKELY(context.operations != nullptr || !page_map.find_near(address, place))) {
    return Slow(pointer, bytes);
  }
  const auto [word, descriptor] = place.look();
  if (TALUS_LIKELY(word.is_slab())) {
    const Slab& slab = *static_cast<Slab*>(descriptor);
    slab.prove(pointer);  // a copy from the middle of a block would read behind its end
    if (bytes <= slab.block_bytes && bytes >= slab.least_bytes) return pointer;
    if (bytes <= small_bytes_max && word.owner() == context.id) {
      return Small(pointer, slab.block_bytes, bytes);
    }
  } else if (word.bits() == PageEntry::large().bits()) {
    const auto& large = *static_cast<LargeBlock*>(descriptor);
    if (stays_as_it_is(large, address, bytes)) return pointer;
  }
  return Slow(pointer, bytes);  // leaves: another's, special, grows, shrinks, moves; no block
}

// The same; null: no memory, the block is untouched. errno is untouched.
TALUS_USUAL void* reallocate(void* pointer, size_t bytes) noexcept {
  return reallocate_or<reallocate_small, reallocate_slow>(pointer, bytes);
}

}  // namespace talus::core

#endif  // TALUS_PATHS_RESIZE_HPP
