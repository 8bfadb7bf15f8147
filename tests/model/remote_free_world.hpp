// SPDX-License-Identifier: MIT
// model/remote_free_world: heaps, caches, blocks and messages for the model of remote_free.
//
// Owns: the heaps' work around the protocol, and all checks. The work is re-made step by step as in
// src/store/remote.hpp (deliver, take_message, keep_message, bring_home, drain_remote_queue).
// The checks: no block is lost and none comes home twice; its last use is ordered before its reuse.
// The plain fields of a message (its link, its blocks) are ordered by E1; each message is in one
// place. No backlog ever falls below zero, and each ends at exactly zero; a fork finds each block
// in one place.
// Called on: fibers of the explorer; set_up and check_end alone.
#ifndef TALUS_TESTS_MODEL_REMOTE_FREE_WORLD_HPP
#define TALUS_TESTS_MODEL_REMOTE_FREE_WORLD_HPP

#include <new>
#include <type_traits>

#include "memory.hpp"
#include "os/report.hpp"
#include "slab/remote_free.hpp"

namespace model::remote_free {

using talus::core::RemoteMessage;

// A mutant of the callers: the link of a taken message is read when it may be another's already.
#ifndef TALUS_MODEL_LINK_READ_LATE
#define TALUS_MODEL_LINK_READ_LATE 0
#endif

constexpr int heaps_max = threads_max;
constexpr int slabs_max = 3;
constexpr int blocks_max = 2 * slabs_max;  // two blocks a slab
constexpr int messages_max = 12;
constexpr int actions_max = 6;

constexpr int slab_of(int block) { return block / 2; }
// No two sets of blocks have the same sum, so a wrong sum cannot look right.
constexpr size_t bytes_of(int block) { return size_t{16} << block; }
constexpr size_t all_bytes = bytes_of(blocks_max) - bytes_of(0);

struct Action {
  enum Kind : uint8_t { nothing, had, sent, frees, sends, drains, hands_over, forks };
  Kind kind = nothing;
  int what = 0;  // a block, a slab or the heap to drain
  int heap = 0;  // the taker of a slab
};
// Before the run the block was collected by the thread, or was delivered in a message of its own.
constexpr Action has(int block) { return {Action::had, block, 0}; }
constexpr Action sent(int block) { return {Action::sent, block, 0}; }
constexpr Action frees(int block) { return {Action::frees, block, 0}; }
// Delivers everything that the thread collected.
constexpr Action sends() { return {Action::sends, 0, 0}; }
constexpr Action drains(int heap) { return {Action::drains, heap, 0}; }
// Must name the heap that has the slab by then.
constexpr Action hands_over(int slab, int taker) { return {Action::hands_over, slab, taker}; }
constexpr Action forks() { return {Action::forks, 0, 0}; }

struct Plan {
  int thread_count;
  int owner_of_slab[slabs_max];
  Action actions[threads_max][actions_max];
  int heap_of_thread[threads_max] = {0, 1, 2, 3};
};

// A heap, and what a thread has before it, as far as messages are concerned.
struct Heap {
  Mutex lock;
  talus::core::RemoteQueue remote_queue;
  RemoteMessage* unused_messages = nullptr;  // under the lock
};
struct Cache {
  Heap* heap = nullptr;
  RemoteMessage* batches[heaps_max] = {};  // by the heap they are for; null: none yet
};

struct Block {
  PlainData data;
  bool is_freed = false;  // the call that frees it has returned
  bool is_home = false;
};

// The plain fields of a message, as data that must not race.
struct Fields {
  PlainData next;
  PlainData blocks;
};

class World : public Scenario {
 public:
  explicit World(const Plan& plan) : plan_{plan} {}
  int thread_count() const override { return plan_.thread_count; }

  void set_up() override {
    static const char* const head_names[heaps_max] = {"head 0", "head 1", "head 2", "head 3"};
    static const char* const backlog_names[heaps_max] = {"backlog 0", "backlog 1", "backlog 2",
                                                         "backlog 3"};
    made_messages_ = 0;
    for (int i = 0; i < heaps_max; i++) {
      new (&heaps_[i]) Heap();
      caches_[i] = Cache{&heaps_[plan_.heap_of_thread[i]], {}};
      explorer.call_it(&head_of(i), head_names[i]);
      explorer.call_it(&backlog_of(i), backlog_names[i]);
    }
    for (Block& block : blocks_) block = Block{};
    for (int i = 0; i < slabs_max; i++) {
      owners_[i].store_relaxed(static_cast<uint32_t>(plan_.owner_of_slab[i]));
      slabs_[i].reset();
      explorer.call_it(&owners_[i], "owner");
    }
    for (int thread = 0; thread < plan_.thread_count; thread++) {
      for (const Action& action : plan_.actions[thread]) {
        if (action.kind == Action::had) free_block(caches_[thread], action.what);
        if (action.kind == Action::sent) send_block(action.what);
      }
    }
  }

  void run(int thread) override {
    Cache& cache = caches_[thread];
    for (const Action& action : plan_.actions[thread]) {
      switch (action.kind) {
        case Action::nothing:
        case Action::had:
        case Action::sent:
          break;
        case Action::frees:
          free_block(cache, action.what);
          break;
        case Action::sends:
          deliver_all(cache);
          break;
        case Action::drains:
          drain(heaps_[action.what]);
          break;
        case Action::hands_over:
          hand_over(action.what, action.heap);
          break;
        case Action::forks:
          fork();
          break;
      }
    }
  }

  // A message lies in one remote-free queue at most, once, and no sum is below zero.
  void check_step() override {
    int seen[messages_max] = {};
    for (int heap = 0; heap < plan_.thread_count; heap++) {
      if (backlog_of(heap).peek() > all_bytes) explorer.violate("a backlog is below zero");
      for (RemoteMessage* at = head_of(heap).peek(); at != nullptr; at = at->next) {
        if (++seen[index_of(at)] > 1) explorer.violate("a message is delivered twice");
      }
    }
  }

  // The threads end: all that they collected is sent, and everything is drained until it is home.
  void check_end() override {
    for (Cache& cache : caches_) deliver_all(cache);
    for (int round = 0; round < heaps_max; round++) {
      for (Heap& heap : heaps_) drain_locked(heap);
    }
    for (int i = 0; i < heaps_max; i++) {
      if (head_of(i).peek() != nullptr) explorer.violate("an remote_queue is not empty");
      if (backlog_of(i).peek() != 0) explorer.violate("a backlog does not end at zero");
    }
    for (const Block& block : blocks_) {
      if (block.is_freed && !block.is_home) explorer.violate("a block is lost");
    }
    check_messages();
  }

 private:
  // The words of an remote-free queue in their order, for looks that are no steps.
  using Head = talus::core::Atomic<RemoteMessage*>;
  using Backlog = talus::core::Atomic<size_t>;
  static_assert(std::is_standard_layout_v<talus::core::RemoteQueue> &&
                sizeof(talus::core::RemoteQueue) == sizeof(Head) + sizeof(Backlog));
  const Head& head_of(int heap) const {
    return *reinterpret_cast<const Head*>(&heaps_[heap].remote_queue);
  }
  const Backlog& backlog_of(int heap) const {
    return *reinterpret_cast<const Backlog*>(&head_of(heap) + 1);
  }
  int index_of(const RemoteMessage* message) const {
    const ptrdiff_t index = message - messages_;
    if (index < 0 || index >= made_messages_) explorer.violate("a link to what is no message");
    return static_cast<int>(index);
  }
  int index_of(const void* block) const {
    const ptrdiff_t index = static_cast<const Block*>(block) - blocks_;
    if (index < 0 || index >= blocks_max) explorer.violate("a message holds what is no block");
    return static_cast<int>(index);
  }
  Fields& fields_of(const RemoteMessage& message) { return fields_[index_of(&message)]; }
  int owner_of(const void* block) const {
    return static_cast<int>(owners_[slab_of(index_of(block))].load_relaxed());
  }

  // Before and after a run there is one thread, and no step.
  static void lock(Heap& heap) {
    if (explorer.current() != no_thread) heap.lock.lock();
  }
  static void unlock(Heap& heap) {
    if (explorer.current() != no_thread) heap.lock.unlock();
  }

  // Messages. The lock of the heap that they are taken from is held, or given to.

  RemoteMessage* take_message(Heap& heap) {
    RemoteMessage* message = heap.unused_messages;
    if (message == nullptr) return make_message();
    fields_of(*message).next.read("the link of an unused message");
    heap.unused_messages = message->next;
    return message;
  }
  RemoteMessage* make_message() {
    if (made_messages_ == messages_max) explorer.violate("more messages than messages_max");
    const int index = made_messages_++;
    fields_[index] = Fields{};
    RemoteMessage* message = new (&messages_[index]) RemoteMessage();
    explorer.call_it(&message->bytes, "bytes");
    explorer.call_it(&message->count, "count");
    return message;
  }
  void keep_message(Heap& heap, RemoteMessage& message) {
    fields_of(message).next.write("the link of an unused message");
    message.next = heap.unused_messages;
    heap.unused_messages = &message;
  }
  void push(Heap& owner, RemoteMessage& message) {
    fields_of(message).next.write("the link of a message");
    owner.remote_queue.push(message);
  }

  // Freeing and delivering.

  void free_block(Cache& cache, int index) {
    Block& block = blocks_[index];
    block.data.write("the last use of a block");
    RemoteMessage*& batch = cache.batches[owner_of(&block)];
    if (batch == nullptr) {
      lock(*cache.heap);
      batch = take_message(*cache.heap);
      unlock(*cache.heap);
    }
    fields_of(*batch).blocks.write("the blocks of a collected message");
    batch->add(&block, bytes_of(index));
    block.is_freed = true;
  }
  void send_block(int index) {
    RemoteMessage* message = make_message();
    message->add(&blocks_[index], bytes_of(index));
    push(heaps_[owner_of(&blocks_[index])], *message);
    blocks_[index].is_freed = true;
  }
  void deliver_all(Cache& cache) {
    for (int owner = 0; owner < heaps_max; owner++) {
      RemoteMessage*& batch = cache.batches[owner];
      if (batch == nullptr || batch->count.load_relaxed() == 0) continue;
      lock(*cache.heap);
      push(heaps_[owner], *batch);
      batch = take_message(*cache.heap);
      unlock(*cache.heap);
    }
  }

  // Draining.

  void drain(Heap& heap) {
    lock(heap);
    drain_locked(heap);
    unlock(heap);
  }
  void drain_locked(Heap& heap) {
    RemoteMessage* message = heap.remote_queue.take_all();
    while (message != nullptr) {
      fields_of(*message).next.read("the link of a taken message");
      RemoteMessage* next = message->next;
      const size_t bytes = message->bytes.load_relaxed();
      heap.remote_queue.count_taken(bytes);
      bring_home(heap, *message, bytes);
      message = TALUS_MODEL_LINK_READ_LATE ? message->next : next;
    }
  }
  void bring_home(Heap& heap, RemoteMessage& message, size_t message_bytes) {
    fields_of(message).blocks.write("the blocks of a taken message");
    void* moved_blocks[blocks_max];
    int moved_count = 0;
    const uint32_t count = message.count.load_relaxed();
    for (uint32_t i = 0; i < count; i++) {
      void* block = message.newest()[i];
      message_bytes -= bytes_of(index_of(block));
      if (&heaps_[owner_of(block)] != &heap) {
        moved_blocks[moved_count++] = block;
      } else {
        come_home(index_of(block));
      }
    }
    if (message_bytes != 0) explorer.violate("the bytes of a message are not its blocks'");
    message.clear();
    if (moved_count == 0) return keep_message(heap, message);
    int owner = 0;
    for (int i = 0; i < moved_count; i++) {
      owner = owner_of(moved_blocks[i]);
      message.add(moved_blocks[i], bytes_of(index_of(moved_blocks[i])));
    }
    push(heaps_[owner], message);
  }
  void come_home(int index) {
    Block& block = blocks_[index];
    if (block.is_home) explorer.violate("a block comes home twice");
    block.is_home = true;
    slabs_[slab_of(index)].write("a slab's bitmap");
    block.data.write("the reuse of a block");
  }

  void hand_over(int slab, int taker) {
    const int giver = static_cast<int>(owners_[slab].peek());
    Heap& first = heaps_[giver < taker ? giver : taker];
    Heap& second = heaps_[giver < taker ? taker : giver];
    lock(first);
    lock(second);
    slabs_[slab].write("a slab's bitmap");
    owners_[slab].store_relaxed(static_cast<uint32_t>(taker));
    unlock(second);
    unlock(first);
  }

  // Under all locks each block that was freed is in one place: with its collector, in an
  // remote-free queue, or home. Of a block that is being freed this moment there may be no trace.
  void fork() {
    for (int heap = 0; heap < plan_.thread_count; heap++) lock(heaps_[heap]);
    int seen[blocks_max] = {};
    for (const Cache& cache : caches_) {
      for (RemoteMessage* batch : cache.batches) {
        if (batch != nullptr) look_at(*batch, seen);
      }
    }
    for (int heap = 0; heap < plan_.thread_count; heap++) {
      for (RemoteMessage* at = head_of(heap).peek(); at != nullptr; at = at->next) {
        look_at(*at, seen);
      }
    }
    for (int i = 0; i < blocks_max; i++) {
      seen[i] += blocks_[i].is_home ? 1 : 0;
      if (seen[i] > 1) explorer.violate("a fork finds a block in two places");
      if (seen[i] == 0 && blocks_[i].is_freed) explorer.violate("a fork misses a block");
    }
    for (int heap = plan_.thread_count; heap-- > 0;) unlock(heaps_[heap]);
  }
  void look_at(const RemoteMessage& message, int* seen) const {
    for (uint32_t i = 0; i < message.count.peek(); i++) {
      seen[index_of(message.blocks[RemoteMessage::place_of(i)])]++;
    }
  }

  // At the end each message is empty and either a batch or unused.
  void check_messages() {
    int seen = 0;
    for (const Cache& cache : caches_) {
      for (RemoteMessage* batch : cache.batches) seen += batch != nullptr ? check_empty(*batch) : 0;
    }
    for (const Heap& heap : heaps_) {
      for (RemoteMessage* at = heap.unused_messages; at != nullptr; at = at->next) {
        seen += check_empty(*at);
        if (seen > made_messages_) break;
      }
    }
    if (seen != made_messages_) {
      explorer.violate("%d messages were made and %d are there", made_messages_, seen);
    }
  }
  static int check_empty(const RemoteMessage& message) {
    if (message.count.peek() != 0 || message.bytes.peek() != 0) {
      explorer.violate("an unused message is not empty");
    }
    return 1;
  }

  const Plan plan_;
  Heap heaps_[heaps_max];
  Cache caches_[threads_max];
  Block blocks_[blocks_max];
  talus::core::Atomic<uint32_t>
      owners_[slabs_max];       // by slab; written under the locks of both heaps
  PlainData slabs_[slabs_max];  // what a heap's lock guards
  RemoteMessage messages_[messages_max];
  Fields fields_[messages_max];
  int made_messages_ = 0;
};

}  // namespace model::remote_free

#endif  // TALUS_TESTS_MODEL_REMOTE_FREE_WORLD_HPP
