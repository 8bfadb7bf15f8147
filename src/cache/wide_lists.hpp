// SPDX-License-Identifier: MIT
// cache/wide_lists: lists that run empty and full in turn get more room.
//
// Such a list moves the same blocks to their slabs and back again. A list that only runs empty, or
// only gets full, would hold more blocks for no gain.
// Owns: when a list grows and shrinks, where it lies then, and what all wide lists of a thread may
// hold (ThreadCache::wide). A wide place is metadata of its own, which stays with the cache.
// Invariant: medium lists do not grow.
// Called on: the thread that owns the cache, or the thread that empties it.
#ifndef TALUS_CACHE_WIDE_LISTS_HPP
#define TALUS_CACHE_WIDE_LISTS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/registry.hpp"
#include "cache/list_home.hpp"

namespace talus::core {

// The most blocks of a list that runs empty and full in turn.
inline size_t list_wide_of(ClassId id) noexcept {
  return is_medium(id) ? list_most_of(id) : wide_list_factor * list_most_of(id);
}
inline size_t wide_bytes_most() noexcept { return wide_total_factor * options.list_bytes; }

// Reduces a list's capacity to the usual one, in place. Returns that capacity; the caller makes
// sure that the list holds no more blocks.
TALUS_SLOW size_t shrink_list(ThreadCache& cache, ClassId id) noexcept {
  const size_t usual = list_most_of(id);
  const size_t capacity = list_capacity(cache, id);
  if (capacity <= usual) return usual;
  const size_t less = (capacity - usual) * size_class_row(id).block_bytes;
  size_t& bytes = cache.wide.bytes;
  bytes -= less < bytes ? less : bytes;  // less was counted if the bounds became lower
  list_of(cache, id).limit = list_bottom(cache, id) + usual;
  return usual;
}

// Asks one list for its room; lists take turns. A list gives it up if its trend did not reverse
// since the last ask.
TALUS_SLOW void ask_for_room(ThreadCache& cache) noexcept {
  WideLists& wide = cache.wide;
  const ClassId id{static_cast<uint8_t>(wide.next_asked)};
  wide.next_asked = (wide.next_asked + 1) % class_count;
  if (!is_wide(cache, id)) return;
  uint64_t& word = wide.turning_words[index_of(id) / 64];
  const bool has_reversed = (word & class_bit(id)) != 0;
  word &= ~class_bit(id);
  if (has_reversed) return;
  const size_t usual = shrink_list(cache, id);
  TALUS_ASSERT(list_capacity(cache, id) <= usual);
  const size_t length = list_length(cache, id);
  if (length > usual) send_home(cache, id, length - usual, remote_backlog_bytes_max);
}

// Is there a wide place for this list? Makes one if necessary.
TALUS_SLOW bool has_wide_place(ThreadCache& cache, ClassId id) noexcept {
  void***& bottoms = cache.wide.bottoms;
  Held held{space.lock()};
  if (bottoms == nullptr) {
    void* memory = space.take_spare_metadata(held, class_count * sizeof(void**));
    if (memory == nullptr) return false;
    bottoms = static_cast<void***>(memory);
  }
  void**& bottom = bottoms[index_of(id)];
  if (bottom == nullptr) {
    const size_t places = list_nulls + list_wide_of(id);
    void* memory = space.take_spare_metadata(held, places * sizeof(void*));
    if (memory != nullptr) bottom = static_cast<void**>(memory) + list_nulls;
  }
  return bottom != nullptr;
}

// A list of the usual capacity or more reversed its trend. Returns its new capacity, twice the old
// one. 0: this was the first time, the list has enough, or other lists have the room.
TALUS_SLOW size_t find_room_to_grow(ThreadCache& cache, ClassId id) noexcept {
  WideLists& wide = cache.wide;
  uint64_t& word = wide.turning_words[index_of(id) / 64];
  const bool has_reversed_before = (word & class_bit(id)) != 0;
  word |= class_bit(id);
  if (!has_reversed_before) return 0;
  const size_t capacity = list_capacity(cache, id);
  const size_t most = list_wide_of(id);
  if (capacity >= most) return 0;
  const size_t wider = 2 * capacity < most ? 2 * capacity : most;
  TALUS_ASSERT(wider > capacity && wider <= list_wide_of(id));
  const size_t more_bytes = (wider - capacity) * size_class_row(id).block_bytes;
  if (wide.bytes + more_bytes > wide_bytes_most()) ask_for_room(cache);
  if (wide.bytes + more_bytes > wide_bytes_most() || !has_wide_place(cache, id)) return 0;
  wide.bytes += more_bytes;
  return wider;
}

// Moves an empty list to its wide place, with this capacity. Returns where it begins. The caller
// holds the heap's lock.
TALUS_SLOW void** grow_list(Held<HeapLock>& held, ThreadCache& cache, ClassId id,
                            size_t capacity) noexcept {
  return move_list(held, cache, id, cache.wide.bottoms[index_of(id)], capacity);
}

// An empty list moves to its first place and has no room, for the next thread. The caller sets the
// bytes of all wide lists.
TALUS_USUAL void shorten_list(ThreadCache& cache, ClassId id) noexcept {
  TALUS_ASSERT(list_length(cache, id) == 0);
  void** first = first_place(cache, id);
  if (list_bottom(cache, id) == first) {
    list_of(cache, id).limit = first;
    return;
  }
  Held held{lock_of(cache)};
  move_list(held, cache, id, first, 0);
}

}  // namespace talus::core

#endif  // TALUS_CACHE_WIDE_LISTS_HPP
