// SPDX-License-Identifier: MIT
// retention/refault: does the program soon reuse the memory that was purged for the bound?
//
// Free memory in slabs beyond the bound is purged at once (retention/retention.hpp). A program that
// repeatedly frees much and allocates as much a moment later gains nothing from that. Its pages
// come back cleared, one fault at a time, and its peak is the same. So the bytes purged are
// compared with the bytes of them that were taken again within a moment. If most were, the bound is
// wider for a while: half more than was kept when they were purged, because this much would be
// needed again at once. Memory that is not reused is then purged by its age.
// Owns: the sums of the present moment, and what may be kept until when. Called on: under the space
// lock. Must not know: slabs, what the bound is.
#ifndef TALUS_RETENTION_REFAULT_HPP
#define TALUS_RETENTION_REFAULT_HPP

#include "base/base.hpp"

namespace talus::core {

class Refault {
 public:
  // `bytes` were purged as excess of the `kept_bytes` that slabs kept.
  void note_given(size_t bytes, size_t kept_bytes, uint64_t now_ms) noexcept {
    if (now_ms - begun_ms_ > refault_moment_ms) begin(now_ms);
    given_bytes_ += bytes;
    if (kept_bytes > kept_most_) kept_most_ = kept_bytes;
    TALUS_AUDIT_SOUND(*this);
  }
  // Blocks were taken from `bytes` of purged pages.
  void note_taken(size_t bytes, uint64_t now_ms) noexcept {
    if (now_ms - begun_ms_ > refault_moment_ms) return;
    taken_bytes_ += bytes;
    if (given_bytes_ < refault_bytes_min || taken_bytes_ < given_bytes_ / refault_part) return;
    may_keep_ = kept_most_ + kept_most_ / 2;
    end_ms_ = now_ms + refault_ms;
    begin(now_ms);
    TALUS_AUDIT_SOUND(*this);
  }
  // What was purged was kept before, and what may be kept has an end.
  bool is_sound() const noexcept {
    return (given_bytes_ == 0 || kept_most_ != 0) && (may_keep_ == 0) == (end_ms_ == 0);
  }
  bool is_any() const noexcept { return may_keep_ != 0; }
  // Bytes that may be kept because purged memory was refaulted.
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

}  // namespace talus::core

#endif  // TALUS_RETENTION_REFAULT_HPP
