// SPDX-License-Identifier: MIT
// heap/empty_slabs: how many empty slabs of each class a heap keeps for its next blocks.
//
// One empty slab of a class may stay in any case (store/keep_empty.hpp). Further ones end, and
// their ranges go to address space, where any heap can take them. A program that frees a batch of
// blocks and allocates such a batch again would end and make all slabs of the batch each time. Each
// end and each beginning takes the lock of address space, for which all threads wait. So a class
// that makes a slab after several of its slabs ended may keep more. Slabs that end and begin one by
// one gain nothing. Slabs of medium blocks hold few, so they end and begin by chance.
// All classes of a heap together may keep a part of what the process may retain, and what stays
// counts as retained. Before the heap takes untouched memory it ends one of them
// (docs/decisions/0044).
// Owns: how many may stay, and which classes may have some. Invariant: is_sound(). Each decay pass
// begins anew, and so does another thread that brings the heap's blocks home.
// Called on: under the heap's lock. Must not know: slabs.
#ifndef TALUS_HEAP_EMPTY_SLABS_HPP
#define TALUS_HEAP_EMPTY_SLABS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/machine.hpp"
#include "settings/options.hpp"
#include "os/bytes.hpp"

namespace talus::core {

class EmptySlabs {
 public:
  // Slabs of this class, as full of free blocks, that may stay beside the one that always may.
  size_t allowed(ClassId id) const noexcept { return allowed_[index_of(id)]; }

  // A slab ended because it was one too many.
  void note_ended(ClassId id) noexcept {
    uint8_t& ended = ended_[index_of(id)];
    if (ended != UINT8_MAX) ended++;
  }
  // A slab is being made beside the `slabs` that its class has. If one of the class ended before,
  // that was in vain.
  void note_made(ClassId id, size_t slabs) noexcept {
    uint8_t& ended = ended_[index_of(id)];
    if (TALUS_LIKELY(ended == 0)) return;
    const bool is_batch = ended >= batch_slabs_min + slabs / batch_slabs_part;
    ended--;
    if (!is_batch || is_medium(id)) return;
    uint8_t& allowed = allowed_[index_of(id)];
    size_t wider = allowed + allowed / 2 + size_t{1};
    if (wider > slabs + 1) wider = slabs + 1;
    if (wider > UINT8_MAX) wider = UINT8_MAX;
    if (wider <= allowed) return;
    const size_t more_bytes = (wider - allowed) * size_class_row(id).slab_slices * slice_bytes;
    if (allowed_bytes_ + more_bytes > bytes_most()) return;
    allowed = static_cast<uint8_t>(wider);
    allowed_bytes_ += more_bytes;
  }
  // A slab stays, because this class may keep more.
  void note_kept(ClassId id) noexcept { kept_classes().set(index_of(id), index_of(id) + 1, true); }

  bool may_have_kept() noexcept { return kept_classes().next(0, class_count, true) != class_count; }
  // Calls end_one(id) for the classes that kept slabs, until it returns true. False: it found none,
  // and the class is not asked again until it keeps one.
  template <typename EndOne>
  void find_kept(EndOne end_one) noexcept {
    BitRow kept = kept_classes();
    for (size_t at = 0; (at = kept.next(at, class_count, true)) < class_count; at++) {
      if (end_one(ClassId{static_cast<uint8_t>(at)})) return;
      kept.set(at, at + 1, false);
    }
  }

  // Forgets which slabs ended, and allows only the one that always may stay. The heap still has the
  // slabs that it kept.
  void begin_anew() noexcept {
    clear_bytes(ended_, sizeof ended_);
    clear_bytes(allowed_, sizeof allowed_);
    allowed_bytes_ = 0;
  }

  bool is_sound() const noexcept {
    size_t bytes = 0;
    for (size_t index = 0; index < class_count; index++) {
      const ClassId id{static_cast<uint8_t>(index)};
      bytes += allowed_[index] * size_class_row(id).slab_slices * slice_bytes;
    }
    return bytes == allowed_bytes_;
  }

 private:
  BitRow kept_classes() noexcept { return BitRow{kept_words_}; }
  // Nothing where memory has a limit: near it, what one heap keeps is missing in another.
  static size_t bytes_most() noexcept {
    const bool is_limited =
        limits.soft_bytes.load_hint() != 0 || limits.hard_bytes.load_hint() != 0;
    return is_limited || options.decay_ms == 0 ? 0 : options.retain_bytes / empty_slabs_part;
  }

  uint8_t ended_[class_count] = {};    // since the last decay pass, and not made anew since
  uint8_t allowed_[class_count] = {};  // slabs
  // A bit a class: it may have slabs that were allowed to stay.
  uint64_t kept_words_[BitRow::bytes_for(class_count) / sizeof(uint64_t)] = {};
  size_t allowed_bytes_ = 0;  // of all that is allowed
};

}  // namespace talus::core

#endif  // TALUS_HEAP_EMPTY_SLABS_HPP
