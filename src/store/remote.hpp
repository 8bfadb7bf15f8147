// SPDX-License-Identifier: MIT
// store/remote: the freeing thread's side of remote frees: it collects blocks and sends them home.
//
// The blocks belong to other heaps, or to the thread's own heap in classes for which it has no
// list. The owner's side is store/drain.hpp.
// Owns: the batches that a thread collects, and their delivery.
// Invariants: small blocks that share cache lines with others never enter another heap's lists.
// Larger ones may (heap/lists.hpp). A full message wakes no thread: a thread of its heap finds it
// at a refill, when it is time (is_time_to_drain). The last write to a block comes before the block
// enters a message (store/write_prefetch.hpp).
// Called on: any thread.
#ifndef TALUS_STORE_REMOTE_HPP
#define TALUS_STORE_REMOTE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "store/instance_room.hpp"
#include "store/slabs.hpp"
#include "store/drain.hpp"
#include "store/write_prefetch.hpp"

namespace talus::core {

// Moves the two newest blocks of a batch to its next message, because a double free in a row must
// meet the first free. If either block is too large to wait in a message, both go home. The caller
// holds the lock of the collecting thread's heap.
TALUS_USUAL void keep_newest(RemoteMessage& from, RemoteMessage& to) noexcept {
  TALUS_ASSERT(&from != &to && to.count.load_own() == 0);
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
  TALUS_ASSERT(batch.owner != HeapId::none);
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
  TALUS_ASSERT(batch.message == nullptr || batch.message->count.load_own() == 0);
  batch.owner = batch.message != nullptr ? owner : HeapId::none;
  return batch.message != nullptr;
}

// Puts one block into its slab, whichever heap owns the slab now. For threads that cannot collect,
// and for blocks of instances.
TALUS_SLOW void free_to_slab(void* pointer) noexcept {
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

// Adds a block to a batch that has a message for its owner, and delivers the batch when it is full
// or reaches `bytes_most`. Reports a block that is one of the two newest.
TALUS_FAST void add_to_batch(ThreadCache& cache, RemoteBatch& batch, void* pointer,
                             size_t block_bytes, size_t bytes_most) noexcept {
  TALUS_ASSERT(batch.message != nullptr && batch.owner != HeapId::none);
  TALUS_ASSERT(!is_instance(batch.owner));  // a message might outlive it
  RemoteMessage& message = *batch.message;
  if (TALUS_UNLIKELY(message.is_among_newest(pointer))) report::double_free(pointer, block_bytes);
  prefetch_for_write(pointer, block_bytes);
  message.add(pointer, block_bytes);
  if (TALUS_LIKELY(!message.is_full() && message.bytes.load_own() < bytes_most)) return;
  deliver(cache, batch, Newest::stay);
}

TALUS_SLOW void free_remote_anew(ThreadCache& cache, RemoteBatch& batch, void* pointer,
                                 PageEntry word) noexcept {
  if (is_instance(word.owner())) {  // a message might outlive it
    if (!free_small_inside(pointer, word.owner())) free_to_slab(pointer);
    return;
  }
  if (!begin_batch(cache, batch, word.owner())) return free_to_slab(pointer);
  add_to_batch(cache, batch, pointer, block_bytes_of(word), remote_batch_bytes_max);
}

// Where a thread collects blocks of another heap. Another owner may use the same batch.
TALUS_FAST RemoteBatch& remote_batch(ThreadCache& cache, HeapId owner) noexcept {
  return cache.batches[index_of(owner) % remote_owners];
}

// Frees a block of another heap's slab, with its page-map entry.
TALUS_FAST void free_remote(ThreadCache& cache, void* pointer, PageEntry word) noexcept {
  if (TALUS_UNLIKELY(is_home_at_once(block_bytes_of(word)))) return free_to_slab(pointer);
  RemoteBatch& batch = remote_batch(cache, word.owner());
  if (TALUS_UNLIKELY(batch.owner != word.owner())) {
    return free_remote_anew(cache, batch, pointer, word);
  }
  add_to_batch(cache, batch, pointer, block_bytes_of(word), remote_batch_bytes_max);
}

// For small blocks of the cache's heap, of classes that the thread does not allocate. Lists would
// hold such blocks, some of each class, for no use.
TALUS_FAST RemoteBatch& return_batch(ThreadCache& cache) noexcept {
  return cache.batches[remote_owners];
}
TALUS_USUAL void free_unlisted(ThreadCache& cache, void* pointer, ClassId id) noexcept {
  RemoteBatch& batch = return_batch(cache);
  if (TALUS_UNLIKELY(batch.owner != cache.id) && !begin_batch(cache, batch, cache.id)) {
    return free_to_slab(pointer);
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
  TALUS_ASSERT(count < RemoteMessage::blocks_max);  // a full one was delivered
  if (TALUS_UNLIKELY(count + 1 == RemoteMessage::blocks_max)) return false;
  if (bytes + block_bytes >= bytes_most) return false;
  if (TALUS_UNLIKELY(message.is_among_newest(pointer))) return false;
  prefetch_for_write(pointer, block_bytes);
  message.add_to(count, bytes, pointer, block_bytes);
  return true;
}

}  // namespace talus::core

#endif  // TALUS_STORE_REMOTE_HPP
