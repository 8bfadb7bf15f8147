// SPDX-License-Identifier: MIT
// space/retention: how much free memory may stay resident, and since when it was not needed.
//
// Owns: the marks of what was free and what was in use of late, and the bounds made of them. What
// was free at the worst moment of the last decay_ms is surplus (base/low_mark.hpp). Beyond
// retain_bytes nothing stays but what was in use at once with the rest a moment ago
// (base/high_mark.hpp): what comes and goes in large steps would otherwise be given back and
// touched anew in each step, and while it stays there is no more memory than there just was.
// Called on: under the space lock. Must not know: where the memory lies.
#ifndef TALUS_SPACE_RETENTION_HPP
#define TALUS_SPACE_RETENTION_HPP

#include "os/os.hpp"
#include "settings/options.hpp"

namespace talus {

// "Given" are bytes with users, "dirty" those that are free and may be resident.
class Retention {
 public:
  // Bytes went from the dirty ones, or new ones, to a user.
  void note(size_t given, size_t dirty) noexcept {
    given_mark_.note(given);
    dirty_mark_.note(dirty);
  }
  // That much of the surplus went back to the kernel.
  void give_away(size_t bytes) noexcept { dirty_mark_.give_away(bytes); }
  // Bytes that slabs keep free and touched, when somebody looked last: they are retained, too.
  void note_free_in_slabs(size_t bytes) noexcept { free_in_slabs_ = bytes; }

  // What is free and touched, and nobody needed lately.
  size_t surplus() const noexcept { return dirty_mark_.surplus(); }

  // Lets time pass; returns the surplus.
  size_t turn(uint64_t turns, size_t given, size_t dirty) noexcept {
    turned_ms_ = os::System::now_ms();
    // The turn that ends first may hold an old mark; more than all others tell nothing new.
    if (turns > LowMark::turns_kept + 1) turns = LowMark::turns_kept + 1;
    for (; turns > 0; turns--) {
      dirty_mark_.turn(dirty);
      given_mark_.turn(given);
    }
    return surplus();
  }
  // For who gives back: lets time pass where no helper did; returns the surplus, 0 if it is early.
  size_t turn_if_late(size_t given, size_t dirty) noexcept {
    const uint64_t turn_ms = options.decay_ms / LowMark::turns_kept;
    const uint64_t late_ms = os::System::now_ms() - turned_ms_;
    if (late_ms <= 2 * turn_ms) return 0;
    return turn(turn_ms == 0 ? late_ms : late_ms / turn_ms, given, dirty);
  }

  // Dirty bytes that may be kept. Slabs take their part of it, but for the last sixteenth.
  size_t dirty_bytes_max(size_t given) const noexcept {
    if (options.decay_ms == 0 || options.retain_bytes == 0) return 0;
    const size_t most = options.retain_bytes - part_of_threads(options.retain_bytes);
    const size_t in_slabs = free_in_slabs_ < most ? free_in_slabs_ : most;
    return Greater::of(Greater::of(most - in_slabs, most / 16), used_lately(given));
  }
  // So much more is free and touched than may be. Large heaps may keep an eighth in slabs.
  size_t excess_bytes(size_t given, size_t dirty) const noexcept {
    const size_t bound = Greater::of(options.retain_bytes, given / 8);
    const size_t most = Greater::of(bound - part_of_threads(bound), used_lately(given));
    const size_t kept = free_in_slabs_ + dirty;
    return kept > most ? kept - most : 0;
  }

 private:
  // Bytes that had users at the same time as those given now.
  size_t used_lately(size_t given) const noexcept {
    return given_mark_.most() > given ? given_mark_.most() - given : 0;
  }
  // Where slabs keep much, threads hold some of it in their lists: that is part of the bound, too.
  size_t part_of_threads(size_t bound) const noexcept {
    return free_in_slabs_ > bound / 8 ? bound / 8 : 0;
  }

  LowMark dirty_mark_;
  HighMark given_mark_;
  uint64_t turned_ms_ = 0;
  size_t free_in_slabs_ = 0;
};

}  // namespace talus

#endif  // TALUS_SPACE_RETENTION_HPP
