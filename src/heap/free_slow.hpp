// SPDX-License-Identifier: MIT
// heap/free_slow: what free does when the block cannot just be pushed.
//
// Owns: flushing a full list, collecting and delivering blocks of other heaps, and the answer to
// pointers that are no block. The outline is in heap/free.hpp. Called on: any thread.
#ifndef TALUS_HEAP_FREE_SLOW_HPP
#define TALUS_HEAP_FREE_SLOW_HPP

#include "heap/alloc_slow.hpp"

namespace talus {

// Gives the older half of a full list back to its slabs. The younger half stays: it is in cache.
TALUS_SLOW void flush_half(Heap& heap, ClassId id) noexcept {
  void** bottom = list_bottom(heap, id);
  const size_t length = list_length(heap, id);
  const size_t flushed = (length + 1) / 2;
  Locked held{lock_of(heap)};
  give_blocks(heap, bottom, flushed);
  for (size_t i = flushed; i < length; i++) bottom[i - flushed] = bottom[i];
  heap.lists[index_of(id)].top.store_relaxed(bottom + length - flushed);  // [own] in the lock
}

// Does the owner's work if too much waits for it, or if it has no thread.
inline void drain_for_owner(Heap& owner) noexcept {
  const bool is_orphan = owner.shared_is_orphan.load_relaxed();  // [hint] the lock decides
  if (!is_orphan && owner.inbox.backlog_bytes() < remote_backlog_bytes_max) return;
  if (!lock_of(owner).try_take()) return;
  drain_inbox(owner);
  lock_of(owner).give();
}

// Sends the collected blocks home: whole words of each slab's remote bitmap at a time. `heap` is
// the collector; its lock is held meanwhile, so that a fork finds a batch either full or empty.
TALUS_SLOW void deliver(Heap& heap, RemoteBatch& batch) noexcept {
  if (batch.words_used == 0) return;
  Heap& owner = heap_with(batch.owner);
  {
    Locked held{lock_of(heap)};
    owner.inbox.count_backlog(batch.bytes.load_relaxed());  // [own]
    for (RemoteWord& entry : batch.words) {
      const uint64_t bits = entry.bits.load_relaxed();  // [own]
      if (bits == 0) continue;
      entry.bits.store_relaxed(0);  // [own]
      if (owner.inbox.deliver(*entry.slab, entry.word, bits)) owner.inbox.notify(*entry.slab);
    }
    batch.words_used = 0;
    batch.bytes.store_relaxed(0);  // [own]
  }
  drain_for_owner(owner);
}

// Sends one block home, for a thread that has no heap to collect in.
inline void deliver_one(HeapId owner_id, Slab& slab, uint32_t index) noexcept {
  Heap& owner = heap_with(owner_id);
  owner.inbox.count_backlog(slab.block_bytes);
  const uint64_t bit = uint64_t{1} << (index & 63);
  if (owner.inbox.deliver(slab, index >> 6, bit)) owner.inbox.notify(slab);
  drain_for_owner(owner);
}

// The entry of a word in a batch, or the empty one where it belongs. There is always one.
TALUS_FAST RemoteWord& entry_of(RemoteBatch& batch, const Slab& slab, uint32_t word) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(&slab);
  size_t place = (address >> 6) + (address >> 13) + word * 7;
  for (;; place++) {
    RemoteWord& entry = batch.words[place % remote_batch_words];
    if (entry.bits.load_relaxed() == 0) return entry;  // [own]
    if (entry.slab == &slab && entry.word == word) return entry;
  }
}

// A block of another heap: kept apart, so that it never changes hands.
inline void release_remote(Heap* heap, void* pointer, PageWord page_word) noexcept {
  const HeapId owner = page_word.owner();
  Slab& slab = slab_of(owner, pointer);
  const uint32_t index = slab.prove(pointer);
  if (heap == nullptr) return deliver_one(owner, slab, index);
  RemoteBatch& batch = heap->batches[index_of(owner) % remote_owners];
  if (batch.owner != owner) {
    deliver(*heap, batch);
    batch.owner = owner;
  }
  RemoteWord& entry = entry_of(batch, slab, index >> 6);
  const uint64_t bits = entry.bits.load_relaxed();  // [own]
  const uint64_t bit = uint64_t{1} << (index & 63);
  if (TALUS_UNLIKELY((bits & bit) != 0)) report::double_free(pointer, slab.block_bytes);
  if (bits == 0) {
    entry.slab = &slab;
    entry.word = index >> 6;
    batch.words_used++;
  }
  entry.bits.store_release(bits | bit);  // last: a fork finds complete entries
  batch.bytes.own_add_relaxed(slab.block_bytes);  // [own]
  const bool is_full = batch.words_used >= remote_batch_words * 3 / 4;
  // [own]
  if (is_full || batch.bytes.load_relaxed() >= remote_batch_bytes_max) deliver(*heap, batch);
}

// The answer to a pointer that is no block: on_foreign_free says whether that is fatal.
TALUS_COLD void release_foreign(void* pointer) noexcept {
  if (options.on_foreign_free == ForeignFree::ignore) return;
  report::foreign_pointer(pointer, "free");
}

// Takes a block back on a heap (null: the thread has none) without telling any mode.
inline void release_plain(Heap* heap, void* pointer) noexcept {
  const PageWord word = page_map.word_of(reinterpret_cast<uintptr_t>(pointer));
  if (word.is_large()) return release_large(heap, pointer);
  if (heap == nullptr || word.owner() != heap->id) return release_remote(heap, pointer, word);
  const ClassId id = class_of_tag(word.tag());
  ThreadList& list = heap->lists[index_of(id)];
  if (list.top.load_relaxed() == list.limit && !enlarge_list(*heap, id)) {  // [own]
    flush_half(*heap, id);
  }
  void** top = list.top.load_relaxed();  // [own]
  *top = pointer;
  list.top.store_relaxed(top + 1);  // [own]
}

inline void note_free(void* pointer) noexcept {
  HeapFace& face = *this_face;
  if (face.operations == nullptr || face.operations->note_free == nullptr) return;
  face.operations->note_free(face, pointer);
}

TALUS_SLOW void release_slow(void* pointer, HeapFace& face) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (pointer == nullptr) return;
  if (!PageMap::covers(address) || page_map.word_of(address).is_nobody()) {
    return release_foreign(pointer);
  }
  if (face.operations == nullptr) return release_plain(static_cast<Heap*>(&face), pointer);
  Heap* heap = face.operations->heap_of(face);
  note_free(pointer);
  release_plain(heap, pointer);
}

// Everything a thread holds goes back: lists, batches, kept blocks. The thread goes on or ends.
inline void flush_all(Heap& heap) noexcept {
  for (RemoteBatch& batch : heap.batches) deliver(heap, batch);
  release_kept(heap);
  Locked held{lock_of(heap)};
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    give_blocks(heap, list_bottom(heap, id), list_length(heap, id));
    heap.lists[index].top.store_relaxed(list_bottom(heap, id));  // [own]
  }
  drain_inbox(heap);
  release_empty_slabs(heap);
}

}  // namespace talus

#endif  // TALUS_HEAP_FREE_SLOW_HPP
