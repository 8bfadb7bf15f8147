// SPDX-License-Identifier: MIT
// slab/remote_free: how blocks freed by other threads come home: in messages.
//
// PROTOCOL remote_free      words: RemoteQueue::shared_head, RemoteMessage::next
//   state      meaning                         left by              to                   order
//   collected  a thread's own, it adds blocks  its deliver          delivered, taken     E1 release
//   delivered  in the remote-free queue of     a drainer's          taken                E1 acquire
//              the blocks' heap                take_all
//   taken      a drainer's own                 the drainer          reused, or delivered on
// A thread gathers blocks of one other heap in a message. When the message is full, the thread
// pushes it on that heap's remote-free queue. A drainer takes the whole queue at once. A message of
// blocks of the thread's own heap goes from collected to taken: the thread drains it itself, under
// the heap's lock. Blocks flushed from a list may belong to several other heaps
// (cache/list_home.hpp): the message goes to one of them, whose drainer sends the rest on. A full
// message leaves its two newest blocks to the thread's next one, under the lock of the collector's
// heap (store/remote.hpp).
// invariants  a message is in at most one remote-free queue, at most once. Its blocks are freed
//             and in no slab's bitmap. They are in no list, except one that is about to lose
//             them under the lock of its heap. A message that a drainer took is the drainer's.
// edges  E1 push.release -> take.acquire   publishes the message, its link, and the last use of
//        each of its blocks. Pushes between the two are read-modify-writes and hand the edge on.
// why no ABA: no thread removes a single message; a drainer takes the whole queue.
// lifetime: messages live for ever; the drainer that emptied one reuses it.
// progress: a push is lock-free (only the CAS retries), taking is wait-free. A backlog of
//   remote_backlog_bytes_most makes deliverers wait for the lock of the receiving heap.
// fork: messages change hands under the locks of the heaps at both ends, so a fork finds each block
//   in one place. A message that is being collected commits each block with its count.
// model: tests/model/remote_free
#ifndef TALUS_SLAB_REMOTE_FREE_HPP
#define TALUS_SLAB_REMOTE_FREE_HPP

#include "base/base.hpp"

namespace talus::core {

// Blocks on their way home; 1 KiB. The array is filled from its end: read from newest() on, the
// block that was freed first comes last. Pushed on a list in this order, blocks come out as they
// were freed, mostly in address order, so that their lines are prefetched. Two nulls lie behind the
// last place, so that the two newest blocks can always be read.
struct alignas(cache_line_bytes) RemoteMessage {
  static constexpr uint32_t blocks_max = 123;
  RemoteMessage* next = nullptr;  // in a remote-free queue or among unused messages
  Atomic<size_t> bytes;           // of the blocks; collector writes, statistics read
  Atomic<uint32_t> count;         // blocks in it; collector writes, the child of a fork reads
  void* blocks[blocks_max + 2] = {};

  // The index of the block that was added as number `number`, counted from 0.
  static constexpr uint32_t place_of(uint32_t number) noexcept { return blocks_max - 1 - number; }

  bool is_full() const noexcept { return count.load_own() == blocks_max; }
  // Adds a block; there must be room.
  TALUS_FAST void add(void* block, size_t block_bytes) noexcept {
    add_to(count.load_own(), bytes.load_own(), block, block_bytes);
  }
  // The same for a caller that knows how many blocks and bytes there are.
  TALUS_FAST void add_to(uint32_t count_before, size_t bytes_before, void* block,
                         size_t block_bytes) noexcept {
    TALUS_ASSERT(count_before < blocks_max && block != nullptr);
    blocks[place_of(count_before)] = block;
    bytes.store_own(bytes_before + block_bytes);
    count.store_release(count_before + 1);  // last: a fork finds complete entries
  }
  // The block that was added last, and behind it the earlier ones.
  void* const* newest() const noexcept { return blocks + blocks_max - count.load_own(); }
  // Was the block added last, or the one before that?
  TALUS_FAST bool is_among_newest(const void* block) const noexcept {
    void* const* added = newest();
    return added[0] == block || added[1] == block;
  }
  // Removes the block that was added last; there must be one.
  void* remove_newest(size_t block_bytes) noexcept {
    TALUS_ASSERT(count.load_own() != 0 && bytes.load_own() >= block_bytes);
    void* block = newest()[0];
    count.store_own(count.load_own() - 1);
    bytes.store_own(bytes.load_own() - block_bytes);
    return block;
  }
  void clear() noexcept {
    bytes.store_own(0);
    count.store_own(0);
  }
};
static_assert(sizeof(RemoteMessage) == 1 * kib, "no padding");

class RemoteQueue {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  // Hands a message over; it belongs to the receiver from here on.
  void push(RemoteMessage& message) noexcept {
    TALUS_ASSERT((message.count.load_own() == 0) == (message.bytes.load_own() == 0));
    // Counted before the message can be taken, so that the sum never falls below zero.
    shared_backlog_bytes_.stat_add(message.bytes.load_own());
    RemoteMessage* head = shared_head_.load_hint();  // the CAS rechecks
    do {
      message.next = head;
    } while (!shared_head_.cas_weak_release(head, &message));  // [E1]
  }
  // All messages, the newest first, linked by next; null: none. They belong to the caller.
  RemoteMessage* take_all() noexcept {
    return shared_head_.exchange_acquire(nullptr);  // [E1]
  }
  // The newest message, for statistics; a caller that keeps drainers out may follow the links.
  const RemoteMessage* newest() const noexcept { return shared_head_.load_acquire(); }  // [E1]
  // The taken bytes are no longer on their way.
  void count_taken(size_t bytes) noexcept { shared_backlog_bytes_.stat_sub(bytes); }

  bool is_empty() const noexcept { return shared_head_.load_hint() == nullptr; }
  size_t backlog_bytes() const noexcept { return shared_backlog_bytes_.load_stat(); }

 private:
  Atomic<RemoteMessage*> shared_head_;
  Atomic<size_t> shared_backlog_bytes_;
};

}  // namespace talus::core

#endif  // TALUS_SLAB_REMOTE_FREE_HPP
