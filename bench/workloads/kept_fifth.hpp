// A buffer of blocks that frees four fifths of itself whenever it is full.
//
// Owns: the order of frees of B7 and B8. One thread uses a buffer.
// Invariant: slots below next_ and the kept ones hold a block, all others none.
//
//   0         kept_start_     kept_end_        capacity_
//   |  next_ -> |  keeps these  |  then these     |
//
// When the last slot is filled, a new fifth becomes the kept one: the fifth after the old one, or
// the first. Blocks below it are freed upwards, blocks above it downwards.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "workload.hpp"

namespace bench {

class KeptFifth {
 public:
  explicit KeptFifth(size_t capacity) : capacity_(capacity), slots_(take_array<Slot>(capacity)) {}

  void add(size_t bytes, uint32_t tag) {
    slots_[next_].fill(bytes, tag);
    live_bytes_ += bytes;
    if (++next_ == kept_start_) next_ = kept_end_;
    if (next_ == capacity_) free_four_fifths();
  }

  void free_all() {
    note_peak();
    for (size_t at = 0; at < next_; at++) free_slot(at);
    // If next_ has not yet passed the kept slots, they still hold their blocks.
    for (size_t at = kept_start_; next_ < kept_start_ && at < kept_end_; at++) free_slot(at);
    give(slots_);
  }

  uint64_t added() const { return freed_; }  // equal after free_all()
  uint64_t live_bytes_peak() const { return live_bytes_peak_ + capacity_ * sizeof(Slot); }

 private:
  void free_slot(size_t at) {
    live_bytes_ -= slots_[at].bytes;
    slots_[at].empty();
    freed_++;
  }

  void note_peak() {
    if (live_bytes_ > live_bytes_peak_) live_bytes_peak_ = live_bytes_;
  }

  void free_four_fifths() {
    note_peak();
    kept_start_ = kept_end_ == capacity_ ? 0 : kept_end_;
    const size_t room = capacity_ - kept_start_;
    kept_end_ = kept_start_ + (capacity_ / 5 < room ? capacity_ / 5 : room);
    for (size_t at = 0; at < kept_start_; at++) free_slot(at);
    for (size_t at = capacity_; at > kept_end_; at--) free_slot(at - 1);
    next_ = kept_start_ == 0 ? kept_end_ : 0;
  }

  size_t capacity_;
  Slot* slots_;
  size_t next_ = 0;
  size_t kept_start_ = 0;
  size_t kept_end_ = 0;
  uint64_t live_bytes_ = 0;
  uint64_t live_bytes_peak_ = 0;
  uint64_t freed_ = 0;
};

}  // namespace bench
