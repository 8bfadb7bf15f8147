// SPDX-License-Identifier: MIT
// space/ledger: what address space counts, and the limits on it.
//
// Owns: the counters. Invariant: given memory exceeds the hard limit only where that was lowered.
// Called on: under the space lock. Must not know: where ranges lie, and what they are for.
#ifndef TALUS_SPACE_LEDGER_HPP
#define TALUS_SPACE_LEDGER_HPP

#include "base/base.hpp"
#include "settings/machine.hpp"
#include "arch/probes.hpp"
#include "space/purge_causes.hpp"
#include "space/range.hpp"

namespace talus::core {

class Ledger {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  const SpaceCounters& counters() const noexcept { return counters_; }
  size_t given_bytes() const noexcept { return counters_.given_bytes; }
  size_t reserved_bytes() const noexcept { return counters_.reserved_bytes; }

  void note_arena(size_t bytes) noexcept {
    counters_.arena_count++;
    counters_.reserved_bytes += bytes;
    if (counters_.reserved_bytes > counters_.reserved_peak_bytes) {
      counters_.reserved_peak_bytes = counters_.reserved_bytes;
    }
  }
  // Reserved addresses will never be used.
  void forget_reserved(size_t bytes) noexcept { counters_.reserved_bytes -= bytes; }

  void note_given(size_t slices) noexcept {
    counters_.given_bytes += slices * slice_bytes;
    counters_.change_count++;
    if (counters_.given_bytes > counters_.given_peak_bytes) {
      counters_.given_peak_bytes = counters_.given_bytes;
    }
  }
  // Address space keeps slices for itself.
  void note_own(size_t slices) noexcept { counters_.given_bytes += slices * slice_bytes; }
  void note_returned(size_t slices) noexcept {
    counters_.given_bytes -= slices * slice_bytes;
    counters_.change_count++;
  }
  // A user corrects its counts.
  void note_settled() noexcept { counters_.change_count++; }
  // A range without pages waits for its next user, outside of all free ranges.
  void put_aside(size_t slices) noexcept {
    note_returned(slices);
    aside_bytes_ += slices * slice_bytes;
  }
  // It has a user again. False: the hard limit does not allow it.
  [[nodiscard]] bool take_aside(size_t slices) noexcept {
    if (!is_within_limit(slices * slice_bytes)) return false;
    note_given(slices);
    aside_bytes_ -= slices * slice_bytes;
    return true;
  }
  size_t aside_bytes() const noexcept { return aside_bytes_; }
  void note_purged(size_t bytes, size_t steps) noexcept {
    counters_.purged_bytes += bytes;
    counters_.purge_count += steps;
    causes_.note(bytes, steps);
    arch::probe_purge(bytes, steps);
  }
  PurgeCauses& causes() noexcept { return causes_; }

  // Peaks are those of the time from here on.
  void reset_peaks() noexcept {
    counters_.reserved_peak_bytes = counters_.reserved_bytes;
    counters_.given_peak_bytes = counters_.given_bytes;
  }

  // Memory of blocks that a mode made beside all ranges. It counts against the limits, and is in no
  // other count.
  void note_beside(size_t bytes) noexcept { beside_bytes_ += bytes; }
  void note_beside_returned(size_t bytes) noexcept { beside_bytes_ -= bytes; }

  // Does the hard limit allow this much more?
  TALUS_USUAL bool is_within_limit(size_t more_bytes) const noexcept {
    const size_t hard = limits.hard_bytes.load_hint();  // may change at any time
    return hard == 0 || limited_bytes() + more_bytes <= hard;
  }
  // The bound on given and dirty bytes. Without a soft limit the hard limit serves.
  static size_t soft_limit() noexcept {
    const size_t soft = limits.soft_bytes.load_hint();  // both may change at any time
    const size_t hard = limits.hard_bytes.load_hint();
    return soft != 0 ? soft : hard != 0 ? hard : SIZE_MAX;
  }
  bool is_above_soft_limit(size_t dirty_bytes) const noexcept {
    return limited_bytes() + dirty_bytes > soft_limit();
  }
  // What has a user and counts against the limits.
  size_t limited_bytes() const noexcept { return counters_.given_bytes + beside_bytes_; }

 private:
  SpaceCounters counters_;
  PurgeCauses causes_;
  size_t aside_bytes_ = 0;
  size_t beside_bytes_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_LEDGER_HPP
