// SPDX-License-Identifier: MIT
// retention/bursts: does the program need much memory again and again, at intervals longer than
// decay_ms?
//
// A server may take 200 MiB for each request, and free all of it. If a request comes every few
// seconds, what decays between two of them is touched anew, one page fault at a time. So the ends
// of bursts are noted. Three bursts of about the same size make a pattern. As long as the pattern
// lasts, the memory of the next burst may stay. It lasts until three bursts failed to come.
//
// A burst stands upon the lowest footprint (retention/goal.hpp) before it, so a program may keep as
// much as it likes. It ends when half of its rise is gone. Turns of the background thread are the
// only moments at which this is looked at. Bursts of two sizes are told apart. So one large burst
// does not hide smaller ones after it.
// Owns: the patterns. Called on: under the space lock. Must not know: where the memory lies, and
// what else may stay.
#ifndef TALUS_RETENTION_BURSTS_HPP
#define TALUS_RETENTION_BURSTS_HPP

#include "base/base.hpp"

namespace talus::core {

// Bursts of about one size, in bytes above what the program kept.
class BurstPattern {
 public:
  // No burst came for too long: the next one begins a pattern.
  void end_if_late(uint64_t now_ms) noexcept {
    if (count_ != 0 && now_ms > end_ms()) count_ = 0;
  }
  // Is a next burst expected?
  bool is_sure() const noexcept { return count_ >= burst_count_min; }
  bool is_expected(uint64_t now_ms) const noexcept { return is_sure() && now_ms <= end_ms(); }
  size_t bytes() const noexcept { return bytes_; }
  unsigned count() const noexcept { return count_; }
  // A smaller burst may be a part of one of these. It neither continues the pattern nor ends it.
  bool is_smaller(size_t bytes) const noexcept {
    return count_ != 0 && bytes < bytes_ - bytes_ / 4;
  }
  bool is_larger(size_t bytes) const noexcept { return count_ != 0 && bytes > bytes_ + bytes_ / 4; }

  // A burst that is not smaller ended. A larger one begins a pattern of its own.
  void note_end(size_t bytes, uint64_t now_ms) noexcept {
    TALUS_ASSERT(!is_smaller(bytes));
    const uint64_t interval_ms = now_ms - last_ms_;
    const bool is_first = count_ == 0 || is_larger(bytes);
    bytes_ = bytes;
    last_ms_ = now_ms;
    if (is_first) count_ = 1;
    // What comes back sooner stays anyway, and counts as one burst.
    if (is_first || interval_ms < burst_interval_ms_min) return;
    if (count_ == 1) intervals_ms_[0] = intervals_ms_[1] = interval_ms;
    intervals_ms_[next_] = interval_ms;
    next_ = (next_ + 1) % intervals_kept;
    if (count_ < burst_count_min) count_++;
  }
  bool is_sound() const noexcept {
    return count_ <= burst_count_min && (count_ < 2 || longest_ms() != 0);
  }

 private:
  // When the pattern ends if no burst does before.
  uint64_t end_ms() const noexcept {
    return last_ms_ + (count_ == 1 ? burst_interval_ms_max : bursts_missed_max * longest_ms());
  }
  uint64_t longest_ms() const noexcept {
    uint64_t longest = 0;
    for (const uint64_t interval : intervals_ms_) longest = interval > longest ? interval : longest;
    return longest < burst_interval_ms_max ? longest : burst_interval_ms_max;
  }

  static constexpr unsigned intervals_kept = 2;

  size_t bytes_ = 0;  // of the last burst
  uint64_t last_ms_ = 0;
  uint64_t intervals_ms_[intervals_kept] = {};
  unsigned next_ = 0;
  unsigned count_ = 0;  // bursts of the pattern, up to burst_count_min
};

class Bursts {
 public:
  // A turn ended in which the highest footprint was `most`. It is `now` at the end.
  void turn(size_t most, size_t now, uint64_t now_ms) noexcept {
    if (most < now) most = now;  // no mark noted the end of a move
    if (begin_ms_ == 0) begin_ms_ = high_ms_ = now_ms;
    if (most > highest_) highest_ = most;
    if (highest_ - now < burst_bytes_min) high_ms_ = now_ms;
    // What the program keeps shows where the first fall has ended.
    if (is_first_) lowest_ = now;
    const bool may_end = !is_first_ || most - now < mib;
    larger_.end_if_late(now_ms);
    smaller_.end_if_late(now_ms);
    const size_t rise = highest_ - lowest_;
    const bool is_low = rise >= burst_bytes_min && now < highest_ - rise / 2;
    if (is_low && low_ms_ == 0) low_ms_ = now_ms;
    const bool is_end = may_end && is_low;
    if (is_end) note_end(rise, low_ms_);
    if (is_end || now < lowest_ || has_settled(now, now_ms)) {
      highest_ = lowest_ = now;
      begin_ms_ = high_ms_ = now_ms;
      low_ms_ = 0;
      is_first_ = false;
    }
    TALUS_AUDIT_SOUND(*this);
  }
  // Is a next burst expected at all? No call of the clock is needed where it is not.
  bool is_pattern() const noexcept { return larger_.is_sure() || smaller_.is_sure(); }
  // The footprint that the next burst is expected to have at most; 0: none is expected.
  size_t expected(uint64_t now_ms) const noexcept {
    const size_t larger = larger_.is_expected(now_ms) ? larger_.bytes() : 0;
    const size_t smaller = smaller_.is_expected(now_ms) ? smaller_.bytes() : 0;
    const size_t rise = larger > smaller ? larger : smaller;
    return rise == 0 ? 0 : lowest_ + rise;
  }
  bool is_sound() const noexcept {
    return lowest_ <= highest_ && larger_.is_sound() && smaller_.is_sound();
  }

 private:
  // What stays for long is no part of a burst, nor what stays where another part went.
  bool has_settled(size_t now, uint64_t now_ms) const noexcept {
    const bool has_fallen = highest_ - now >= burst_bytes_min;
    return now_ms - begin_ms_ > burst_interval_ms_max ||
           (has_fallen && now_ms - high_ms_ > burst_fall_ms_max);
  }
  void note_end(size_t bytes, uint64_t now_ms) noexcept {
    // One larger burst does not make the program forget what returned before.
    if (larger_.is_larger(bytes) && larger_.count() >= smaller_.count()) smaller_ = larger_;
    BurstPattern& pattern = larger_.is_smaller(bytes) ? smaller_ : larger_;
    if (!pattern.is_smaller(bytes)) pattern.note_end(bytes, now_ms);
  }

  // Footprints since the end of the last burst, or since the lowest one after it.
  size_t highest_ = 0;
  size_t lowest_ = 0;
  uint64_t begin_ms_ = 0;
  uint64_t high_ms_ = 0;  // the end of the last turn near the highest
  uint64_t low_ms_ = 0;   // the end of the first turn after the fall; 0: none yet
  bool is_first_ = true;  // no burst ended yet
  BurstPattern larger_;   // of the largest bursts
  BurstPattern smaller_;  // of those that are smaller
};

}  // namespace talus::core

#endif  // TALUS_RETENTION_BURSTS_HPP
