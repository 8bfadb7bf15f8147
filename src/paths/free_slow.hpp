// SPDX-License-Identifier: MIT
// paths/free_slow: what free does when it cannot just push the block.
//
// Owns: flushing a full list, finding a block's owner, and the answer to pointers that are no
// block. paths/free.hpp has the outline.
// Called on: any thread.
#ifndef TALUS_PATHS_FREE_SLOW_HPP
#define TALUS_PATHS_FREE_SLOW_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/sides.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/special.hpp"
#include "store/drain.hpp"
#include "store/instance_room.hpp"
#include "store/large.hpp"
#include "store/remote.hpp"
#include "store/slabs.hpp"
#include "store/slab_at.hpp"
#include "cache/list_home.hpp"
#include "cache/side_home.hpp"
#include "cache/idle_caches.hpp"
#include "cache/large_cache.hpp"
#include "cache/medium_lists.hpp"
#include "cache/wide_lists.hpp"

namespace talus::core {

// Flushes the oldest blocks of a full list to their slabs. The younger ones stay, because they are
// in the processor's cache.
TALUS_SLOW void flush_some(ThreadCache& cache, ClassId id) noexcept {
  const bool has_reversed = turn_list(cache, id, Trend::shrinks);
  const size_t length = list_length(cache, id);
  size_t flushed = blocks_to_move(id, length, has_reversed);
  TALUS_ASSERT(length != 0 && flushed <= length);
  if (TALUS_UNLIKELY(!has_reversed && is_wide(cache, id))) {
    const size_t left = shrink_list(cache, id) / 2;
    if (flushed + left < length) flushed = length - left;
  }
  send_home(cache, id, flushed, remote_backlog_bytes_max);
}

// Reports a pointer into a slab that is no start of a block.
TALUS_FAST void refuse_inside(const void* pointer) noexcept {
  prove_slab(pointer, "free").prove(pointer);
}

TALUS_FAST void push_or_flush(ThreadCache& cache, void* pointer, ClassId id) noexcept {
  refuse_inside(pointer);
  refuse_just_freed(cache, pointer, id);
  if (is_medium(id)) return free_medium(cache, pointer, id);
  if (TALUS_LIKELY(push_on_list(cache, pointer, id))) return;
  if (!is_begun(cache, id)) return free_unlisted(cache, pointer, id);
  flush_some(cache, id);
  refuse_free_in_slab(cache, pointer);  // the flush put blocks of a short list there
  push_on_list(cache, pointer, id);
}

// The answer to a pointer that is no block; on_foreign_free says whether it is fatal.
TALUS_COLD void free_foreign(void* pointer) noexcept {
  if (options.on_foreign_free == ForeignFree::ignore) return;
  report::foreign_pointer(pointer, "free");
}

// Is this the block of an instance? The word is its page-map entry.
inline bool is_of_instance(PageEntry word, const void* pointer) noexcept {
  if (is_special(word)) {
    SpecialBlock* block = special_of(pointer);
    return block != nullptr && block->operations().instance != nullptr;
  }
  return is_instance(word.is_large() ? owner_of_large(word) : word.owner());
}

// Frees a block by way of a cache (null: the thread has none). No mode is told or asked.
TALUS_USUAL void free_plain(ThreadCache* cache, void* pointer) noexcept {
  TALUS_ASSERT(pointer != nullptr);
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(pointer));
  if (word.is_large()) return free_large(cache, pointer, word);
  if (is_special(word)) return free_special(pointer);
  if (cache == nullptr) return free_to_slab(pointer);
  if (word.owner() != cache->id) {
    refuse_inside(pointer);
    return free_remote(*cache, pointer, word);
  }
  push_or_flush(*cache, pointer, class_of_tag(word.tag()));
}

// Does a mode take this freed block, which observers know of?
TALUS_APART bool is_diverted(ModeContext& context, void* pointer) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(pointer));
  const bool is_inside = is_of_instance(word, pointer);
  return is_diverted(context, pointer, is_inside ? BlockHome::instance : BlockHome::common);
}
// Frees a block: a mode takes it, or it goes the plain way.
TALUS_USUAL void free_by_modes(ThreadCache* cache, void* pointer) noexcept {
  ModeContext* context = current_modes();
  const bool is_asked = context != nullptr && has_diverters(*context);
  if (TALUS_UNLIKELY(is_asked) && is_diverted(*context, pointer)) return;
  free_plain(cache, pointer);
}

// Is there nothing to free? True for null, and for an address of no owner, after the answer to it.
inline bool is_no_block(void* pointer) noexcept {
  if (pointer == nullptr) return true;
  if (!page_map.word_anywhere(reinterpret_cast<uintptr_t>(pointer)).has_no_owner()) return false;
  free_foreign(pointer);
  return true;
}

// The way of all contexts, as allocate_usual().
TALUS_SLOW void free_usual(void* pointer, ThreadContext& context) noexcept {
  if (is_no_block(pointer)) return;
  ThreadCache* cache = cache_behind(context);
  {
    const MaybeWorking working{cache};
    if (TALUS_UNLIKELY(context.operations != nullptr)) {
      note_free(pointer);
      free_by_modes(cache, pointer);
    } else {
      free_plain(cache, pointer);
    }
  }
  offer_work();
}
TALUS_APART void free_by_operations(void* pointer, ThreadContext& context) noexcept {
  if (const Mode* mode = mode_alone(context)) return mode->free_alone(pointer, context);
  free_usual(pointer, context);
}

TALUS_SLOW void free_slow(void* pointer, ThreadContext& context) noexcept {
  if (context.operations != nullptr) return free_by_operations(pointer, context);
  free_usual(pointer, context);
}

TALUS_SLOW void free_to_full(void* pointer, ThreadCache& cache, size_t index) noexcept {
  {
    const Working working{cache};
    push_or_flush(cache, pointer, ClassId{static_cast<uint8_t>(index)});
  }
  offer_work();
}

// Pushes a block on its slow list, and calls nothing. False: the list is full, the owner must come
// back, the pointer is no block, or it was just freed.
template <typename IsStart>
TALUS_FAST bool push_slow_if(ThreadCache& cache, void* pointer, size_t guarded,
                             IsStart is_start) noexcept {
  const BriefWork work{cache};
  if (TALUS_UNLIKELY(!work.may_begin)) return false;
  TALUS_ASSERT(guarded < class_count - fast_class_count);
  Atomic<void**>& slot = cache.slow_tops[guarded];
  void** top = slot.load_own();
  if (TALUS_UNLIKELY(is_uppermost(top, pointer))) return false;
  if (TALUS_UNLIKELY(top == cache.slow_limits[guarded])) return false;
  if (TALUS_UNLIKELY(!is_start())) return false;
  *top = pointer;
  slot.store_own(top + 1);
  return true;
}
TALUS_FAST bool push_slow(ThreadCache& cache, void* pointer, size_t guarded) noexcept {
  const size_t index = fast_class_count + guarded;
  return push_slow_if(cache, pointer, guarded,
                      [&]() noexcept { return is_start_at_hand(cache, pointer, index); });
}

// Adds a block of a class that the thread does not allocate to its return batch, and calls nothing.
TALUS_FAST bool collect_unlisted(ThreadCache& cache, void* pointer, size_t index) noexcept {
  const BriefWork work{cache};
  if (TALUS_UNLIKELY(!work.may_begin)) return false;
  if (TALUS_UNLIKELY(!is_start_at_hand(cache, pointer, index))) return false;
  const size_t block_bytes = size_class_row(ClassId{static_cast<uint8_t>(index)}).block_bytes;
  return add_if_room(return_batch(cache), pointer, cache.id, block_bytes, return_batch_bytes_max);
}

// A block whose free side is full, or no block, or just freed.
TALUS_APART void free_to_side(SidedContext& context, void* pointer, size_t index) noexcept {
  ThreadCache& cache = *context.cache;
  bool is_left = false;
  {
    const Working working{cache};
    refuse_inside(pointer);
    if (TALUS_UNLIKELY(is_uppermost(context.tops[index].load_own(), pointer))) {
      report::double_free(pointer, size_class_table.rows[index].block_bytes);
    }
    is_left = &current_context() != &context;
    if (TALUS_LIKELY(!is_left)) push_on_side(context, cache, pointer, index);
  }
  if (TALUS_LIKELY(!is_left)) return offer_work();
  free_to_full(pointer, cache, index);  // the thread has just left its sides
  context.ended[index].own_add(1);
}
// free_full() in a context with two sides. No mode is told.
TALUS_APART void free_by_sides(void* pointer, ThreadContext& found, size_t index) noexcept {
  auto& context = static_cast<SidedContext&>(found);
  TALUS_ASSERT(has_sides(found) && context.id == context.cache->id);
  if (index < fast_class_count) return free_to_side(context, pointer, index);
  if (!push_slow(*context.cache, pointer, index - fast_class_count)) {
    free_to_full(pointer, *context.cache, index);
  }
  context.ended[index].own_add(1);
}

// The same for a block of a fitted class. Its slab tells whether a block starts here.
TALUS_NEXT void free_fitted(void* pointer, ThreadCache& cache, size_t index) noexcept {
  const auto is_start = [pointer]() noexcept { return is_quick_block(pointer); };
  if (!push_slow_if(cache, pointer, index - fast_class_count, is_start)) {
    free_to_full(pointer, cache, index);
  }
}

// For a pointer into the context's own heap. Its list, with this index, is full or slow, or the
// pointer is no block, or it was just freed. Such a context is a thread's cache, or has two sides.
TALUS_NEXT void free_full(void* pointer, ThreadContext& context, size_t index) noexcept {
  TALUS_ASSERT(index < class_count);
  auto& cache = static_cast<ThreadCache&>(context);
  const bool is_slow_list = index >= fast_class_count;
  if (TALUS_LIKELY(is_slow_list && push_slow(cache, pointer, index - fast_class_count))) return;
  if (TALUS_UNLIKELY(context.operations != nullptr)) return free_by_sides(pointer, context, index);
  const ClassId id{static_cast<uint8_t>(index)};
  if (TALUS_UNLIKELY(is_fitted(id))) return free_fitted(pointer, cache, index);
  if (!is_slow_list && !is_begun(cache, id) && collect_unlisted(cache, pointer, index)) return;
  free_to_full(pointer, cache, index);  // parameters stay where they are
}

TALUS_SLOW void free_large_slow(ThreadCache& cache, void* pointer, PageEntry word) noexcept {
  {
    const Working working{cache};
    free_large(&cache, pointer, word);
  }
  offer_work();
}

TALUS_NEXT void free_large_by(ThreadContext& context, void* pointer, PageEntry word) noexcept {
  if (TALUS_LIKELY(keep_at_hand(context, pointer, word))) return offer_work();
  if (TALUS_UNLIKELY(context.operations != nullptr)) return free_slow(pointer, context);
  free_large_slow(static_cast<ThreadCache&>(context), pointer, word);
}

// Keeps a block of another heap in the list of its class. False: its class or its instance has no
// foreign blocks, or the list is full.
TALUS_FAST bool take_in(ThreadList list, void* pointer, bool may_be_foreign,
                        PageEntry word) noexcept {
  return may_be_foreign && !is_instance(word.owner()) && push_within(list, pointer);
}

TALUS_SLOW void free_remote_slow(ThreadCache& cache, void* pointer, PageEntry word) noexcept {
  {
    const Working working{cache};
    const ClassId id = class_of_tag(word.tag());
    refuse_inside(pointer);
    const bool may_be_foreign = may_have_foreign(id);
    if (may_be_foreign) refuse_just_freed(cache, pointer, id);
    // A block beyond the page map's window may be kept, too: the fast test cannot tell if it is a
    // block.
    if (!take_in(list_of(cache, id), pointer, may_be_foreign, word)) {
      free_remote(cache, pointer, word);
    }
  }
  offer_work();
}

// Keeps a block of another heap, or adds it to its owner's batch, if a few stores are enough. Calls
// nothing. A kept block will be allocated here, where it is in the processor's cache.
TALUS_FAST bool take_in_at_hand(ThreadContext& context, void* pointer, PageEntry word) noexcept {
  const BriefWork work{context};
  if (TALUS_UNLIKELY(!work.may_begin)) return false;
  auto& cache = static_cast<ThreadCache&>(context);
  const ClassId id = class_of_tag(word.tag());
  if (TALUS_UNLIKELY(!is_start_at_hand(context, pointer, index_of(id)))) return false;
  const size_t block_bytes = size_class_row(id).block_bytes;
  if (TALUS_UNLIKELY(block_bytes >= foreign_bytes_min)) {
    const ThreadList list = list_of(cache, id);
    if (was_just_freed(list, pointer)) return false;
    if (take_in(list, pointer, may_have_fixed_foreign(id), word)) return true;
  }
  return add_if_room(remote_batch(cache, word.owner()), pointer, word.owner(), block_bytes,
                     remote_batch_bytes_max);
}

// A block of another heap, by a context with two sides. No mode is told.
TALUS_APART void free_other_by_sides(void* pointer, ThreadContext& found, PageEntry word) noexcept {
  auto& context = static_cast<SidedContext&>(found);
  ThreadCache& cache = *context.cache;
  if (!take_in_at_hand(cache, pointer, word)) free_remote_slow(cache, pointer, word);
  context.ended[index_of(class_of_tag(word.tag()))].own_add(1);
}

// The same by any context with operations. The blocks of an instance may end without a free, so
// modes are told of each.
TALUS_APART void free_other_by_modes(void* pointer, ThreadContext& found, PageEntry word) noexcept {
  if (const Mode* mode = mode_alone(found)) return mode->free_alone(pointer, found);
  if (!has_sides(found) || is_instance(word.owner())) return free_slow(pointer, found);
  free_other_by_sides(pointer, found, word);
}

// A pointer whose page-map entry names another owner than the context.
TALUS_NEXT void free_other(void* pointer, ThreadContext& context, PageEntry word) noexcept {
  if (TALUS_UNLIKELY(!word.is_slab())) {
    return word.is_large() ? free_large_by(context, pointer, word) : free_slow(pointer, context);
  }
  if (TALUS_LIKELY(take_in_at_hand(context, pointer, word))) return;
  if (TALUS_UNLIKELY(context.operations != nullptr)) {
    return free_other_by_modes(pointer, context, word);
  }
  free_remote_slow(static_cast<ThreadCache&>(context), pointer, word);
}

// Flushes everything that a thread holds: lists, batches, kept blocks. Lists become short again.
// The thread goes on or ends.
TALUS_USUAL void flush_all(ThreadCache& cache) noexcept {
  for (RemoteBatch& batch : cache.batches) deliver(cache, batch, Newest::go, 0);
  flush_kept(cache);
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    send_home(cache, id, list_length(cache, id), 0);
    shorten_list(cache, id);  // the next thread must not pay for this one's habits
  }
  send_sides_home(cache, 0);
  cache.kept.medium_bytes = 0;
  cache.kept.borrowed_count = 0;
  for (uint64_t& word : cache.growing_words) word = 0;
  for (uint64_t& word : cache.wide.turning_words) word = 0;
  cache.wide.bytes = 0;
  for (const RemoteBatch& batch : cache.batches) {
    TALUS_ASSERT(batch.message == nullptr || batch.message->count.load_own() == 0);
  }
  TALUS_AUDIT_SOUND(cache);
  Held held{lock_of(cache)};
  drain_remote_queue(*cache.heap);
}

// Flushes all lists but medium ones; they keep their capacity. The thread is in a slow path.
TALUS_USUAL void flush_lists(ThreadCache& cache) noexcept {
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    if (!is_medium(id)) send_home(cache, id, list_length(cache, id), remote_backlog_bytes_max);
  }
  send_sides_home(cache, remote_backlog_bytes_max);
}

// Leaves a heap only the slabs that hold blocks.
inline void return_unused(Heap& heap) noexcept {
  Held held{lock_of(heap)};
  drain_remote_queue(heap);
  rest_heap(heap);
  return_empty_slabs(heap);
}

// The end of a thread, as far as the heap is concerned.
inline void end_cache(ThreadCache& cache) noexcept {
  end_modes(cache);
  flush_all(cache);
  Heap& heap = *cache.heap;
  bool is_abandoned = false;
  {
    Held held{registry.lock};
    remove_from_use(held, cache);
    is_abandoned = retire_cache(held, cache);
    audit(registry);
  }
  if (is_abandoned) return_unused(heap);
  offer_work();
}

// Flushes a cache that a fork orphaned. Returns whether there was one.
TALUS_USUAL bool salvage_cache() noexcept {
  ThreadCache* cache = take_orphaned_cache();
  if (cache == nullptr) return false;
  TALUS_ASSERT(cache->idle_probe.context_slot.load_own() == &this_context);
  become_whole(*cache);
  cache->shared_state.store_own(OwnerState::active);  // it has no owner
  end_modes(*cache);
  flush_all(*cache);
  Held held{registry.lock};
  retire_orphaned_cache(held, *cache);
  return true;
}

}  // namespace talus::core

#endif  // TALUS_PATHS_FREE_SLOW_HPP
