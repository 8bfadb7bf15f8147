// SPDX-License-Identifier: MIT
// store/drain: the owner's side of remote frees: blocks that other threads sent come home.
//
// Owns: draining a heap's remote-free queue, when to do it, and empty messages.
// Invariants: a delivered block goes to a list of the draining thread or to its slab. If the slab
// changed hands meanwhile, the block follows it to the next heap. The backlog is bounded: a thread
// that delivers drains a queue that is too long, or whose heap has no threads.
// Called on: a thread of the heap, a delivering thread, or the background thread, under the heap's
// lock. The freeing thread's side is store/remote.hpp, the queue itself slab/remote_free.hpp.
#ifndef TALUS_STORE_DRAIN_HPP
#define TALUS_STORE_DRAIN_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/slabs.hpp"

namespace talus::core {

// Empty messages that no heap holds.
struct MessagePool : MadeItems {
  RemoteMessage* unused TALUS_GUARDED_BY(space.lock()) = nullptr;

  // Messages made = those with heaps, batches and queues + unused ones, which are empty.
  bool is_sound() const noexcept TALUS_REQUIRES(space.lock()) {
    size_t unused_count = 0;
    for (const RemoteMessage* at = unused; at != nullptr; at = at->next) {
      if (at->count.load_own() != 0 || at->bytes.load_own() != 0) return false;
      unused_count++;
    }
    return is_whole(unused_count);
  }
};
TALUS_CONSTINIT inline MessagePool message_pool;

// In audit builds, where messages come or go. The space lock is held.
inline void audit(const MessagePool& pool) noexcept TALUS_REQUIRES(space.lock()) {
  if (is_audit_due(pool.made_count())) TALUS_AUDIT_SOUND(pool);
}

// Moves up to `count` messages from one stack to another; returns how many.
inline uint32_t move_messages(RemoteMessage*& from, RemoteMessage*& to, uint32_t count) noexcept {
  TALUS_ASSERT(&from != &to);
  uint32_t moved = 0;
  for (; moved < count && from != nullptr; moved++) {
    RemoteMessage* message = from;
    from = message->next;
    message->next = to;
    to = message;
  }
  return moved;
}

// An empty message; null: no memory. The caller holds the heap's lock.
TALUS_USUAL RemoteMessage* take_message(Heap& heap) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  if (heap.unused_messages == nullptr) {
    Held held{space.lock()};
    heap.unused_message_count =
        move_messages(message_pool.unused, heap.unused_messages, messages_moved);
    message_pool.note_out(heap.unused_message_count);
    audit(message_pool);
    if (heap.unused_messages == nullptr) {
      void* const made = space.take_metadata(held, sizeof(RemoteMessage));
      if (made != nullptr) message_pool.note_made();
      return static_cast<RemoteMessage*>(made);
    }
  }
  RemoteMessage* message = heap.unused_messages;
  heap.unused_messages = message->next;
  heap.unused_message_count--;
  TALUS_ASSERT(message->count.load_own() == 0);
  return message;
}

// Keeps an empty message for its next use. The caller holds the heap's lock.
inline void keep_message(Heap& heap, RemoteMessage& message) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own() && message.count.load_own() == 0);
  message.next = heap.unused_messages;
  heap.unused_messages = &message;
  if (++heap.unused_message_count < 2 * messages_moved) return;
  Held held{space.lock()};
  const uint32_t moved = move_messages(heap.unused_messages, message_pool.unused, messages_moved);
  heap.unused_message_count -= moved;
  message_pool.note_back(moved);
  audit(message_pool);
}

// The lists of a thread that brings blocks home. They get a few blocks of each class: blocks come
// in any order, and each block in a list keeps its slab from becoming empty. The class that the
// thread is about to refill gets as many as it wants; they would come from slabs otherwise.
struct HomeLists {
  ThreadCache* cache = nullptr;  // null: no lists; all blocks go to their slabs
  ClassId refilled{};
  size_t wanted = 0;

  TALUS_FAST bool push(void* block, ClassId id) const noexcept {
    const size_t most =
        id == refilled && wanted != 0 ? wanted : list_most_of(id) / list_remote_part;
    refuse_just_freed(*cache, block, id);
    return list_length(*cache, id) < most && push_on_list(*cache, block, id);
  }
};

// The block size of the slab that a page-map entry names.
TALUS_FAST size_t block_bytes_of(PageEntry word) noexcept {
  return size_class_row(class_of_tag(word.tag())).block_bytes;
}

// Brings the blocks of one message home: to the lists while they have room, the rest to their
// slabs. If a slab changed hands meanwhile, its blocks follow it.
TALUS_USUAL void bring_home(Heap& heap, const HomeLists& lists, RemoteMessage& message) noexcept {
  void* moved_blocks[RemoteMessage::blocks_max];
  uint32_t moved_count = 0;
  uint64_t full_words[BitRow::bytes_for(class_count) / sizeof(uint64_t)] = {};
  BitRow full_classes{full_words};  // whose lists have enough, or get none
  full_classes.set(small_class_count, fitted_small_first, true);
  full_classes.set(fitted_medium_first, class_count, true);
  const uint32_t count = message.count.load_own();
  TALUS_ASSERT(lock_of(heap).is_own() && count <= RemoteMessage::blocks_max);
  void* const* blocks = message.newest();
  for (uint32_t i = 0; i < count;) {
    void* block = blocks[i];
    const uintptr_t address = reinterpret_cast<uintptr_t>(block);
    const PageMap::Place place = page_map.place_of(address);
    const PageEntry word = place.word();
    if (TALUS_UNLIKELY(word.owner() != heap.id)) {
      // Slabs change hands between threads' heaps only.
      if (!word.is_slab() || is_instance(word.owner())) report::foreign_pointer(block, "free");
      moved_blocks[moved_count++] = block;
      i++;
      continue;
    }
    const ClassId id = class_of_tag(word.tag());
    const size_t index = index_of(id);
    if (lists.cache != nullptr && !full_classes.has(index)) {
      if (lists.push(block, id)) {
        i++;
        continue;
      }
      full_classes.set(index, index + 1, true);
    }
    Slab& slab = *static_cast<Slab*>(place.descriptor());
    i += static_cast<uint32_t>(give_to_slab(heap, slab, &blocks[i], count - i));
  }
  note_free_bytes(heap);
  audit(heap);
  message.clear();
  if (TALUS_LIKELY(moved_count == 0)) return keep_message(heap, message);
  PageEntry word;
  for (uint32_t i = 0; i < moved_count; i++) {
    word = page_map.word_of(reinterpret_cast<uintptr_t>(moved_blocks[i]));
    message.add(moved_blocks[i], block_bytes_of(word));
  }
  heap_with(word.owner()).remote_queue.push(message);  // that heap sends on what is not its own
}

// Brings delivered blocks home. The caller holds the heap's lock; a thread of that heap names its
// lists.
TALUS_USUAL void drain_remote_queue(Heap& heap, const HomeLists& lists = {}) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  RemoteMessage* message = heap.remote_queue.take_all();
  if (message == nullptr) return;
  do {
    RemoteMessage* next = message->next;
    heap.remote_queue.count_taken(message->bytes.load_own());
    bring_home(heap, lists, *message);
    message = next;
  } while (message != nullptr);
  request_purge_if_much(heap);
}

// Should a thread of this heap that needs blocks of a class drain the queue now? While slabs have
// such blocks, waiting pays. A block that another processor just freed is still in that processor's
// cache and costs much to fetch. So does the queue itself, if both processors use it all the time.
// Before a new slab begins, the queue is drained, so that waiting blocks cost no memory.
inline bool is_time_to_drain(const Heap& heap, ClassId id) noexcept {
  const size_t backlog = heap.remote_queue.backlog_bytes();
  if (backlog >= remote_wait_bytes) return true;
  return backlog != 0 && heap.available[index_of(id)].fullest() == nullptr;
}

// Drains for the owner if `backlog_max` bytes or more wait, or if its heap has no thread. If
// another thread holds the lock, this one waits for it only when the backlog is very large.
TALUS_USUAL void drain_for_owner(Heap& owner, size_t backlog_max) noexcept {
  const size_t backlog = owner.remote_queue.backlog_bytes();
  if (!owner.is_abandoned() && backlog < backlog_max) return;
  if (backlog >= remote_backlog_bytes_most) {
    lock_of(owner).lock();
  } else if (!lock_of(owner).try_lock()) {
    return;
  }
  give_up_kept_slabs(owner);
  drain_remote_queue(owner);
  lock_of(owner).unlock();
}

}  // namespace talus::core

#endif  // TALUS_STORE_DRAIN_HPP
