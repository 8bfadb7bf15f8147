// SPDX-License-Identifier: MIT
// slab/remote_free: how a block freed by another thread comes home.
//
// PROTOCOL remote_free      words: RemoteState::{shared_bits, shared_notified, shared_next},
//                           Inbox::shared_head         owner: whoever holds the slab's heap's lock
//   state      meaning                          left by                to        order
//   quiet      in no inbox, owner not told      a deliverer's exchange notified  E2 acq_rel
//   notified   in the inbox, or on its way      whoever pops the inbox quiet     E3 acq_rel
// A deliverer sets bits; if it set the first ones of a word it then changes quiet to notified, and
// who won that pushes the slab on the inbox of its heap. (Who finds bits in the word rides along:
// whoever set them notifies, and the bits of a word are taken all at once.) A drainer holds the
// heap's lock, takes the whole inbox, and for each slab: reads the link, changes notified to
// quiet, then takes the bits, word by word.
// invariants  a slab is in at most one inbox at most once; a set bit is taken by exactly one
//             drainer; bits set after their word was taken find the slab quiet, so the owner is
//             told again and no block is lost.
// edges  E1 push.release -> pop.acquire      publishes the link and the slab's presence
//        E2 notify.acq_rel -> quiet.acq_rel  bits set before a lost notify are seen by the drainer
//        E3 bits.release -> bits.acquire     the freed block's last use comes before its reuse
// why no ABA: nobody removes a single slab; a drainer takes the whole inbox.
// lifetime: a deliverer may touch the descriptor after its slab has died (all its blocks came home
//   by another drain). Descriptors keep type, class and heap for ever, so the worst is an inbox
//   entry without bits, which a drainer skips.
// progress: delivery is lock-free (only the push retries), draining is wait-free.
// fork: a heap's lock is held while its thread delivers, so a fork finds deliveries complete. Only
//   a thread without a heap can be cut between its steps; then the blocks of that word stay away
//   from the child, which costs memory and nothing else.
// model: tests/model/remote_free
#ifndef TALUS_SLAB_REMOTE_FREE_HPP
#define TALUS_SLAB_REMOTE_FREE_HPP

#include "slab/slab.hpp"

namespace talus {

struct RemoteState {
  Atomic<Slab*> shared_next;          // in the inbox
  Atomic<uint32_t> shared_notified;   // 0 quiet, 1 notified
  Atomic<uint64_t> shared_bits[1];    // bitmap_words of them
};

// Bytes up to the end of the free bitmap, in whole cache lines.
inline size_t own_bytes(size_t bitmap_words) noexcept {
  const size_t end = offsetof(Slab, first_bits) + bitmap_words * sizeof(uint64_t);
  return round_up(end, cache_line_bytes);
}

inline size_t Slab::descriptor_bytes(size_t bitmap_words) noexcept {
  const size_t own = own_bytes(bitmap_words);
  const size_t shared = sizeof(RemoteState) + (bitmap_words - 1) * sizeof(uint64_t);
  return own + round_up(shared, cache_line_bytes);
}

// Prepares a zeroed piece of metadata of descriptor_bytes() as a descriptor.
inline Slab* make_descriptor(void* zeroed, ClassId class_id, HeapId owner) noexcept {
  Slab* slab = static_cast<Slab*>(zeroed);
  slab->class_id = class_id;
  slab->owner = owner;
  slab->bitmap_words = size_class_row(class_id).bitmap_words;
  char* remote = static_cast<char*>(zeroed) + own_bytes(slab->bitmap_words);
  slab->remote = reinterpret_cast<RemoteState*>(remote);
  return slab;
}

class Inbox {
 public:
  // Delivers blocks of one word of the slab's bitmap; they must be the caller's to free.
  // Reports a block that is on its way home already. True: the word was clear, so the caller must
  // notify() after its last delivery to this slab; else another deliverer has done so or will.
  [[nodiscard]] bool deliver(Slab& slab, uint32_t word, uint64_t bits) noexcept {
    const uint64_t before = slab.remote->shared_bits[word].fetch_or_release(bits);  // [E3]
    if (TALUS_UNLIKELY((before & bits) != 0)) {
      const size_t index = word * 64 + lowest_bit(before & bits);
      report::double_free(reinterpret_cast<void*>(slab.base + index * slab.block_bytes),
                          slab.block_bytes);
    }
    return before == 0;
  }
  // For the cap on what waits and for statistics; once a batch.
  void count_backlog(size_t bytes) noexcept {
    shared_backlog_bytes_.fetch_add_relaxed(bytes);  // [stat]
  }
  // Tells the owner about bits delivered before.
  void notify(Slab& slab) noexcept {
    RemoteState& remote = *slab.remote;
    // [E2] Losing means that a drainer comes by after these bits were set. An exchange, not a CAS:
    // it writes even when it loses, so the drainer's own exchange reads it and sees the bits.
    if (remote.shared_notified.exchange_acq_rel(1) != 0) return;
    Slab* head = shared_head_.load_relaxed();  // [hint] the CAS rechecks
    do {
      remote.shared_next.store_relaxed(head);  // [init] published by the CAS
    } while (!shared_head_.cas_weak_release(head, &slab));  // [E1]
  }

  bool is_empty() const noexcept { return shared_head_.load_relaxed() == nullptr; }  // [hint]
  size_t backlog_bytes() const noexcept { return shared_backlog_bytes_.load_relaxed(); }  // [stat]

  // Brings all delivered blocks home. The heap's lock is held. Calls returned(slab, count_before)
  // for each slab that got blocks back.
  template <typename Returned>
  void drain(Returned returned) noexcept {
    shared_backlog_bytes_.store_relaxed(0);              // [stat] what comes now counts anew
    Slab* slab = shared_head_.exchange_acquire(nullptr);  // [E1]
    while (slab != nullptr) {
      RemoteState& remote = *slab->remote;
      Slab* next = remote.shared_next.load_relaxed();  // [own] until the slab is quiet
      remote.shared_notified.exchange_acq_rel(0);      // [E2]
      const uint32_t count_before = slab->free_count;
      for (uint32_t word = 0; word < slab->bitmap_words; word++) {
        if (remote.shared_bits[word].load_relaxed() == 0) continue;  // [hint] E2 made it visible
        slab->give_blocks(word, remote.shared_bits[word].exchange_acquire(0));  // [E3]
      }
      if (slab->free_count != count_before) returned(*slab, count_before);
      slab = next;
    }
  }

 private:
  Atomic<Slab*> shared_head_;
  Atomic<size_t> shared_backlog_bytes_;
};

}  // namespace talus

#endif  // TALUS_SLAB_REMOTE_FREE_HPP
