// SPDX-License-Identifier: MIT
// space/refault: does the program take back what was just given to the kernel for it?
//
// What slabs keep beyond the bound goes at once (space/retention.hpp). A program that frees much
// and takes as much again a moment later, over and over, gets nothing by that: its pages go and
// come back cleared, one fault at a time, and its peak is the same. So what went is compared with
// what blocks were taken from of it within a moment. Where that was most of it, the bound is wider
// for a while: half more than was kept when it went, because just so much would be met again at
// once. What nobody takes goes by its age then.
// Owns: the sums of the present moment, and what may be kept until when. Called on: under the space
// lock. Must not know: slabs, what the bound is.
#ifndef TALUS_SPACE_REFAULT_HPP
#define TALUS_SPACE_REFAULT_HPP

#include "base/base.hpp"

namespace talus {

class Refault {
 public:
  // Of so many bytes that were kept, some went because they were too much.
  void note_given(size_t bytes, size_t kept_bytes, uint64_t now_ms) noexcept {
    if (now_ms - begun_ms_ > refault_moment_ms) begin(now_ms);
    given_bytes_ += bytes;
    if (kept_bytes > kept_most_) kept_most_ = kept_bytes;
  }
  // Blocks were taken from so many bytes that had gone.
  void note_taken(size_t bytes, uint64_t now_ms) noexcept {
    if (now_ms - begun_ms_ > refault_moment_ms) return;
    taken_bytes_ += bytes;
    if (given_bytes_ < refault_bytes_min || taken_bytes_ < given_bytes_ / refault_part) return;
    may_keep_ = kept_most_ + kept_most_ / 2;
    end_ms_ = now_ms + refault_ms;
    begin(now_ms);
  }
  // Was anything refaulted so far?
  bool is_any() const noexcept { return may_keep_ != 0; }
  // So many bytes may be kept because giving them back was refaulted.
  size_t may_keep(uint64_t now_ms) const noexcept { return now_ms < end_ms_ ? may_keep_ : 0; }

 private:
  void begin(uint64_t now_ms) noexcept {
    begun_ms_ = now_ms;
    given_bytes_ = taken_bytes_ = kept_most_ = 0;
  }

  // Since begun_ms_:
  size_t given_bytes_ = 0;
  size_t taken_bytes_ = 0;
  size_t kept_most_ = 0;
  uint64_t begun_ms_ = 0;
  // Until end_ms_:
  size_t may_keep_ = 0;
  uint64_t end_ms_ = 0;
};

}  // namespace talus

#endif  // TALUS_SPACE_REFAULT_HPP
