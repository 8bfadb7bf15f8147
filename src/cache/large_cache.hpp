// SPDX-License-Identifier: MIT
// cache/large_cache: the large blocks that a thread freed lately and may allocate again.
//
// Owns: a stack for each number of slices up to large_kept_slices. One bound in bytes covers all
// stacks and the medium blocks in lists. Also owns the choice of the block that makes room, and the
// corrections to the count of live blocks.
// Invariants: a kept block has state kept, its page-map entries and its pages. A push or a pop
// commits with the store of the stack's head, so a fork finds every stack whole.
// Called on: the thread that owns the cache, without a lock.
#ifndef TALUS_CACHE_LARGE_CACHE_HPP
#define TALUS_CACHE_LARGE_CACHE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/large_state.hpp"
#include "heap/lists.hpp"
#include "store/instance_large.hpp"
#include "store/large.hpp"
#include "cache/medium_lists.hpp"
#include "cache/idle_caches.hpp"

namespace talus::core {

// Applies the cache's corrections to the pool.
TALUS_SLOW void settle_live(KeptBlocks& kept) noexcept {
  Held held{space.lock()};
  space.note_settled(held);
  large_pool.live_bytes -= kept.live_bytes_less.load_own();
  large_pool.live_count -= kept.live_count_less.load_own();
  kept.live_bytes_less.store_own(0);
  kept.live_count_less.store_own(0);
}

// Corrections to the pool's live count: blocks stop (+1) or begin (-1) to be live. Owner only.
TALUS_FAST void count_less(KeptBlocks& kept, size_t bytes, size_t count) noexcept {
  kept.live_bytes_less.own_add(bytes);
  kept.live_count_less.own_add(count);
}
// Applied now and then, so that statistics of a running process are off by a bounded amount.
TALUS_FAST bool is_much_unsettled(const KeptBlocks& kept) noexcept {
  // Either sign.
  return kept.live_bytes_less.load_own() + large_unsettled_bytes_max >
         2 * large_unsettled_bytes_max;
}
inline void settle_if_much(KeptBlocks& kept) noexcept {
  if (TALUS_UNLIKELY(is_much_unsettled(kept))) settle_live(kept);
}

TALUS_FAST bool may_be_kept(const LargeBlock& large) noexcept {
  return large.slices <= large_kept_slices && !large.is_guarded;
}

// The program lost the block, whose state is kept since.
TALUS_FAST void keep_claimed(KeptBlocks& kept, LargeBlock& large) noexcept {
  TALUS_ASSERT(large.state.load_own() == LargeState::kept && large.slices <= large_kept_slices);
  count_less(kept, large.usable_bytes, 1);
  kept.bytes.own_add(large.slices * slice_bytes);
  Atomic<LargeBlock*>& head = kept.of_slices[large.slices - 1];
  large.next = head.load_own();
  head.store_release(&large);  // last: a fork finds complete stacks
  TALUS_AUDIT_SOUND(kept);
}

// Takes the uppermost block of a stack that is not empty.
TALUS_FAST LargeBlock& pop_kept(KeptBlocks& kept, Atomic<LargeBlock*>& head) noexcept {
  LargeBlock& large = *head.load_own();
  TALUS_ASSERT(large.state.load_own() == LargeState::kept);
  head.store_own(large.next);
  kept.bytes.own_add(~(large.slices * slice_bytes) + 1);
  TALUS_AUDIT_SOUND(kept);
  return large;
}

// kept -> live, with a new size.
TALUS_FAST void large_kept_to_live(KeptBlocks& kept, LargeBlock& large, size_t bytes) noexcept {
  TALUS_ASSERT(large.state.load_own() == LargeState::kept && bytes <= large.slices * slice_bytes);
  large.usable_bytes = round_up(bytes, os::page_bytes_if_known());
  large.front_bytes = 0;
  LargeState::reuse(large.state);
  count_less(kept, ~large.usable_bytes + 1, ~size_t{0});
}

// A kept block that holds `bytes` bytes, now live; null: none.
TALUS_FAST void* take_kept(KeptBlocks& kept, size_t bytes) noexcept {
  TALUS_ASSERT(bytes != 0 && bytes <= large_kept_slices * slice_bytes);
  Atomic<LargeBlock*>& head = kept.of_slices[divide_up(bytes, slice_bytes) - 1];
  if (head.load_own() == nullptr) return nullptr;
  LargeBlock& large = pop_kept(kept, head);
  large_kept_to_live(kept, large, bytes);
  return reinterpret_cast<void*>(large.base);
}

// Two short paths that call nothing. Null or false: more work is needed, and nothing was done.
TALUS_FAST void* take_kept_at_hand(ThreadContext& context, size_t bytes) noexcept {
  const BriefWork work{context};
  if (TALUS_UNLIKELY(!work.may_begin)) return nullptr;
  KeptBlocks& kept = static_cast<ThreadCache&>(context).kept;
  return TALUS_UNLIKELY(is_much_unsettled(kept)) ? nullptr : take_kept(kept, bytes);
}
TALUS_FAST bool keep_at_hand(ThreadContext& context, void* pointer, PageEntry word) noexcept {
  // leaves: one of an instance
  if (TALUS_UNLIKELY(word.bits() != PageEntry::large().bits())) return false;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const PageMap::Found found = page_map.place_of(address).look();
  // leaves: another thread gave it back just now
  if (TALUS_UNLIKELY(found.word.bits() != word.bits())) return false;
  auto& large = *static_cast<LargeBlock*>(found.descriptor);
  // leaves: no block begins here, and what is not kept
  if (TALUS_UNLIKELY(start_of(large) != pointer) || !may_be_kept(large)) return false;
  const BriefWork work{context};
  // leaves: idle, no cache
  if (TALUS_UNLIKELY(!work.may_begin)) return false;
  KeptBlocks& kept = static_cast<ThreadCache&>(context).kept;
  // leaves: statistics far off, too much is kept
  if (TALUS_UNLIKELY(is_much_unsettled(kept))) return false;
  if (!has_room_to_keep(kept, large.slices * slice_bytes)) return false;
  // leaves: freed
  if (TALUS_UNLIKELY(!large.claim(LargeState::kept))) return false;
  // leaves: freed twice at once, and the descriptor is another block's now, which was not freed
  if (TALUS_UNLIKELY(start_of(large) != pointer)) {
    LargeState::end_change(large.state);
    return false;
  }
  keep_claimed(kept, large);
  return true;
}

// Returns the uppermost block of a stack that is not empty. A fork finds it in one place.
inline void give_kept(KeptBlocks& kept, Atomic<LargeBlock*>& head) noexcept {
  Held held{space.lock()};
  give_large(held, pop_kept(kept, head), {});
}

// Displaces one kept block: a large one goes to address space, a medium one to its slab. Sizes take
// turns. False: the thread keeps none.
TALUS_SLOW bool displace_kept(ThreadCache& cache) noexcept {
  constexpr size_t turns = large_kept_slices + (class_count - small_class_count);
  KeptBlocks& kept = cache.kept;
  for (size_t looks = 0; looks < turns; looks++) {
    const size_t turn = kept.next_displaced;
    kept.next_displaced = (turn + 1) % turns;
    if (turn >= large_kept_slices) {
      const size_t index = small_class_count + (turn - large_kept_slices);
      const ClassId id{static_cast<uint8_t>(index)};
      if (is_medium(id) && displace_medium(cache, id)) return true;
    } else if (Atomic<LargeBlock*>& head = kept.of_slices[turn]; head.load_own() != nullptr) {
      give_kept(kept, head);
      return true;
    }
  }
  return false;
}

// Returns all kept blocks, and applies the cache's corrections to the pool.
TALUS_USUAL void flush_kept(ThreadCache& cache) noexcept {
  KeptBlocks& kept = cache.kept;
  for (Atomic<LargeBlock*>& head : kept.of_slices) {
    while (head.load_own() != nullptr) give_kept(kept, head);
  }
  TALUS_ASSERT(kept.bytes.load_own() % slice_bytes == 0);
  kept.bytes.store_own(0);  // after a fork the sum may be off by one block
  settle_live(kept);
}

// A block with its own range, for at least one byte. If the block is null, there is no memory. A
// null `cache`: the calling thread keeps no blocks.
TALUS_SLOW BlockMade allocate_large(ThreadCache* cache, size_t bytes, size_t alignment) noexcept {
  if (TALUS_UNLIKELY(bytes > PTRDIFF_MAX - slice_bytes)) return {};
  if (TALUS_UNLIKELY(bytes == 0)) bytes = 1;
  const size_t slices = divide_up(bytes, slice_bytes);
  if (cache != nullptr && slices <= large_kept_slices && alignment <= slice_bytes) {
    if (void* block = take_kept(cache->kept, bytes)) {
      settle_if_much(cache->kept);
      return {block, Zeroed::no};
    }
  }
  TALUS_ASSERT(is_power_of_two(alignment) && alignment >= slice_bytes);
  Zeroed zeroed = Zeroed::no;
  LargeBlock* large = take_large(bytes, slices, Placing{alignment}, zeroed);
  if (large == nullptr) return {};
  return {reinterpret_cast<void*>(large->base), zeroed};
}

// False: the instance that the word names is gone, and the block is an ordinary one.
TALUS_SLOW bool free_large_of_instance(void* pointer, PageEntry word) noexcept {
  if (free_large_inside(pointer, owner_of_large(word))) return true;
  word = page_map.word_of(reinterpret_cast<uintptr_t>(pointer));
  if (!word.is_large()) report::foreign_pointer(pointer, "free");
  return false;
}

// `word` is the block's page-map entry of a moment ago.
TALUS_SLOW void free_large(ThreadCache* cache, void* pointer, PageEntry word) noexcept {
  const bool is_of_instance = word.bits() != PageEntry::large().bits();
  if (TALUS_UNLIKELY(is_of_instance) && free_large_of_instance(pointer, word)) return;
  LargeBlock& large = prove_large(pointer, "free");
  if (cache == nullptr || !may_be_kept(large)) return give_freed(large, pointer);
  if (!large.claim(LargeState::kept)) report_freed_large(large, pointer, "free");
  keep_claimed(cache->kept, large);
  settle_if_much(cache->kept);
  while (!has_room_to_keep(cache->kept, 0) && displace_kept(*cache)) {}
}

// Keeps a medium block of the cache's heap, displacing other blocks if necessary.
TALUS_SLOW void free_medium(ThreadCache& cache, void* pointer, ClassId id) noexcept {
  TALUS_ASSERT(is_medium(id));
  const size_t bytes = size_class_row(id).block_bytes;
  if (is_home_at_once(bytes)) return give_past_lists(cache, pointer);
  const ThreadList list = slow_list_of(cache, id);
  if (push_within(list, pointer)) return;
  while (!has_room_to_keep(cache.kept, bytes) && displace_kept(cache)) {}
  if (enlarge_medium(cache, id)) {
    refuse_free_in_slab(cache, pointer);  // a block that found no room would be there
    if (push_within(list, pointer)) return;
  }
  give_past_lists(cache, pointer);
}

}  // namespace talus::core

#endif  // TALUS_CACHE_LARGE_CACHE_HPP
