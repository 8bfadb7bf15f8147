// SPDX-License-Identifier: MIT
// store/remote: blocks on their way home, from the freeing thread to the heap that owns them.
//
// They belong to other heaps, or to the thread's own heap in classes for which it has no list.
// Owns: the batches that a thread collects, draining, and unused messages.
// Invariants: small blocks that share cache lines with others never enter another heap's lists.
// Larger ones may (heap/lists.hpp). A full message wakes no thread: a thread of its heap finds it
// at a refill, when it is time (is_time_to_drain). The backlog is bounded: a delivering thread
// drains a queue that is too long, or whose heap has no threads, and waits for the lock if it must.
// The last write to a block comes before the block enters a message (prefetch_for_write).
// Called on: any thread.
#ifndef TALUS_STORE_REMOTE_HPP
#define TALUS_STORE_REMOTE_HPP

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
#include "store/instance_room.hpp"
#include "store/slabs.hpp"

namespace talus::core {

// Empty messages that no heap holds. Under the space lock.
struct MessagePool {
  RemoteMessage* unused = nullptr;
};
inline MessagePool message_pool;

// Moves up to `count` messages from one stack to another; returns how many.
inline uint32_t move_messages(RemoteMessage*& from, RemoteMessage*& to, uint32_t count) noexcept {
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
  if (heap.unused_messages == nullptr) {
    Held held{space.lock()};
    heap.unused_message_count =
        move_messages(message_pool.unused, heap.unused_messages, messages_moved);
    if (heap.unused_messages == nullptr) {
      return static_cast<RemoteMessage*>(space.take_metadata(held, sizeof(RemoteMessage)));
    }
  }
  RemoteMessage* message = heap.unused_messages;
  heap.unused_messages = message->next;
  heap.unused_message_count--;
  return message;
}

// Keeps an empty message for its next use. The caller holds the heap's lock.
inline void keep_message(Heap& heap, RemoteMessage& message) noexcept {
  message.next = heap.unused_messages;
  heap.unused_messages = &message;
  if (++heap.unused_message_count < 2 * messages_moved) return;
  Held held{space.lock()};
  heap.unused_message_count -=
      move_messages(heap.unused_messages, message_pool.unused, messages_moved);
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
  full_classes.set(small_class_count, class_count, true);
  const uint32_t count = message.count.load_own();
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
  drain_remote_queue(owner);
  lock_of(owner).unlock();
}

// Moves the two newest blocks of a batch to its next message, because a double free in a row must
// meet the first free. If either block is too large to wait in a message, both go home. The caller
// holds the lock of the collecting thread's heap.
TALUS_USUAL void keep_newest(RemoteMessage& from, RemoteMessage& to) noexcept {
  void* newest[2] = {from.newest()[0], from.newest()[1]};
  size_t block_bytes[2] = {};
  for (size_t i = 0; i < 2; i++) {
    if (newest[i] == nullptr) return;
    block_bytes[i] = block_bytes_of(page_map.word_of(reinterpret_cast<uintptr_t>(newest[i])));
    if (block_bytes[i] > newest_kept_bytes_max) return;
  }
  for (size_t i = 0; i < 2; i++) from.remove_newest(block_bytes[i]);
  for (size_t i = 2; i > 0; i--) to.add(newest[i - 1], block_bytes[i - 1]);
}

// Whether the two newest blocks of a delivered batch stay in the batch.
enum class Newest : uint8_t { stay, go };

// Delivers a batch, or brings it home if the thread's own heap is the owner. The lock of the
// collecting thread's heap is held meanwhile, so that a fork finds each block in one place. A
// thread that ends makes sure that they arrive, because a few blocks in many slabs keep these from
// becoming empty.
TALUS_SLOW void deliver(ThreadCache& cache, RemoteBatch& batch, Newest newest,
                        size_t backlog_max = remote_backlog_bytes_max) noexcept {
  if (batch.message == nullptr || batch.message->count.load_own() == 0) return;
  Heap& owner = heap_with(batch.owner);
  const bool is_own = batch.owner == cache.id;
  {
    Held held{lock_of(cache)};
    RemoteMessage& full = *batch.message;
    RemoteMessage* next = take_message(*cache.heap);
    if (next != nullptr && newest == Newest::stay) keep_newest(full, *next);
    if (is_own) {
      bring_home(owner, {}, full);
      request_purge_if_much(owner);
    } else {
      owner.remote_queue.push(full);
    }
    batch.message = next;
    if (next == nullptr) batch.owner = HeapId::none;
  }
  if (!is_own) drain_for_owner(owner, backlog_max);
}

// Makes a batch ready for blocks of this owner. False: no memory for a message.
TALUS_SLOW bool begin_batch(ThreadCache& cache, RemoteBatch& batch, HeapId owner) noexcept {
  deliver(cache, batch, Newest::go);
  if (batch.message == nullptr) {
    Held held{lock_of(cache)};
    batch.message = take_message(*cache.heap);
  }
  batch.owner = batch.message != nullptr ? owner : HeapId::none;
  return batch.message != nullptr;
}

// Puts one block into its slab, whichever heap owns the slab now. For threads that cannot collect,
// and for blocks of instances.
TALUS_SLOW void release_to_slab(void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  for (;;) {
    const PageEntry word = page_map.word_of(address);
    if (!word.is_slab()) report::foreign_pointer(pointer, "free");
    Heap& owner = heap_with(word.owner());
    Held held{lock_of(owner)};
    if (page_map.word_of(address).owner() != owner.id) continue;  // it changed hands meanwhile
    give_blocks(owner, &pointer, 1);
    return request_purge_if_much(owner);
  }
}

// Blocks of other heaps up to this size have their first line fetched for ownership; 0 after a
// fork.
inline Atomic<size_t> prefetched_bytes{prefetched_bytes_max};
// After a fork a write would copy a page that another process shares.
inline void stop_prefetching() noexcept {
  if (prefetched_bytes.load_hint() != 0) prefetched_bytes.store_hint(0);
}

// Makes the first line of a small block this processor's own before the block goes home. A mere
// read would leave the line shared with the owner's processor; its next write would wait, and it
// could not fetch lines ahead. The contents of the block do not change.
TALUS_FAST void prefetch_for_write(void* block, size_t block_bytes) noexcept {
  if (TALUS_UNLIKELY(block_bytes > prefetched_bytes.load_hint())) return;
  auto* byte = static_cast<volatile char*>(block);
  *byte = *byte;
}

// Adds a block to a batch that has a message for its owner, and delivers the batch when it is full
// or reaches `bytes_most`. Reports a block that is one of the two newest.
TALUS_FAST void add_to_batch(ThreadCache& cache, RemoteBatch& batch, void* pointer,
                             size_t block_bytes, size_t bytes_most) noexcept {
  RemoteMessage& message = *batch.message;
  if (TALUS_UNLIKELY(message.is_among_newest(pointer))) report::double_free(pointer, block_bytes);
  prefetch_for_write(pointer, block_bytes);
  message.add(pointer, block_bytes);
  if (TALUS_LIKELY(!message.is_full() && message.bytes.load_own() < bytes_most)) return;
  deliver(cache, batch, Newest::stay);
}

TALUS_SLOW void release_remote_anew(ThreadCache& cache, RemoteBatch& batch, void* pointer,
                                    PageEntry word) noexcept {
  if (is_instance(word.owner())) {  // a message might outlive it
    if (!release_small_inside(pointer, word.owner())) release_to_slab(pointer);
    return;
  }
  if (!begin_batch(cache, batch, word.owner())) return release_to_slab(pointer);
  add_to_batch(cache, batch, pointer, block_bytes_of(word), remote_batch_bytes_max);
}

// Where a thread collects blocks of another heap. Another owner may use the same batch.
TALUS_FAST RemoteBatch& remote_batch(ThreadCache& cache, HeapId owner) noexcept {
  return cache.batches[index_of(owner) % remote_owners];
}

// Frees a block of another heap's slab, with its page-map entry.
TALUS_FAST void release_remote(ThreadCache& cache, void* pointer, PageEntry word) noexcept {
  RemoteBatch& batch = remote_batch(cache, word.owner());
  if (TALUS_UNLIKELY(batch.owner != word.owner())) {
    return release_remote_anew(cache, batch, pointer, word);
  }
  add_to_batch(cache, batch, pointer, block_bytes_of(word), remote_batch_bytes_max);
}

// For small blocks of the cache's heap, of classes that the thread does not allocate. Lists would
// hold such blocks, some of each class, for no use.
TALUS_FAST RemoteBatch& return_batch(ThreadCache& cache) noexcept {
  return cache.batches[remote_owners];
}
TALUS_USUAL void release_unlisted(ThreadCache& cache, void* pointer, ClassId id) noexcept {
  RemoteBatch& batch = return_batch(cache);
  if (TALUS_UNLIKELY(batch.owner != cache.id) && !begin_batch(cache, batch, cache.id)) {
    return release_to_slab(pointer);
  }
  add_to_batch(cache, batch, pointer, size_class_row(id).block_bytes, return_batch_bytes_max);
}

// Adds a block to a batch if a few stores are enough. The batch must have begun for this owner, not
// become full, and not have got the block just before. False: nothing was done.
TALUS_FAST bool add_if_room(const RemoteBatch& batch, void* pointer, HeapId owner,
                            size_t block_bytes, size_t bytes_most) noexcept {
  if (TALUS_UNLIKELY(batch.owner != owner)) return false;
  RemoteMessage& message = *batch.message;
  const uint32_t count = message.count.load_own();
  const size_t bytes = message.bytes.load_own();
  if (TALUS_UNLIKELY(count + 1 == RemoteMessage::blocks_max)) return false;
  if (bytes + block_bytes >= bytes_most) return false;
  if (TALUS_UNLIKELY(message.is_among_newest(pointer))) return false;
  prefetch_for_write(pointer, block_bytes);
  message.add_to(count, bytes, pointer, block_bytes);
  return true;
}

}  // namespace talus::core

#endif  // TALUS_STORE_REMOTE_HPP
