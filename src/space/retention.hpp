// SPDX-License-Identifier: MIT
// space/retention: how much free memory may stay resident, and since when it was not needed.
//
// Owns: the marks of what was free and what was in use of late, and the bounds made of them. What
// was free at the worst moment of the last decay_ms is surplus (base/low_mark.hpp). Beyond
// retain_bytes nothing stays but what was in use at once with the rest a moment ago
// (base/high_mark.hpp): what comes and goes in large steps would otherwise be given back and
// touched anew in each step, and while it stays there is no more memory than there just was. What
// slabs keep free is not in use, though slabs are given: it counts as retained beside the dirty.
// What moves from one range to another is in use once, though both are given.
// Where the program takes back what had to go for that, more may stay (space/refault.hpp).
// Called on: under the space lock. Must not know: where the memory lies.
#ifndef TALUS_SPACE_RETENTION_HPP
#define TALUS_SPACE_RETENTION_HPP

#include "os/os.hpp"
#include "settings/options.hpp"
#include "space/refault.hpp"

namespace talus {

// Who asks what is too much. What is too much only because time passed is for the helper to give
// back at first; a turn later the program's own threads do, where they allocate or free.
enum class Reclaimer : uint8_t { background, caller };

// "Given" are bytes with users, "dirty" those that are free and may be resident. "In use" is what
// is given, less what slabs have free and what is given twice.
class Retention {
 public:
  // Bytes went from the dirty ones, or new ones, to a user.
  void note(size_t given, size_t dirty) noexcept {
    use_mark_.note(footprint(given));
    dirty_mark_.note(dirty);
  }
  // Contents are on their way from a range of so many bytes to another, both of which are given.
  void begin_move(size_t bytes) noexcept { moving_ += bytes; }
  void end_move(size_t bytes) noexcept { moving_ -= bytes < moving_ ? bytes : moving_; }
  void forget_moves() noexcept { moving_ = 0; }
  // That much of the surplus went back to the kernel.
  void subtract_purged(size_t bytes) noexcept { dirty_mark_.subtract_purged(bytes); }
  // Slabs keep so many bytes free and touched that were not before; wraps where they are fewer.
  void add_free_in_slabs(size_t bytes, size_t given) noexcept {
    free_in_slabs_ += bytes;
    use_mark_.note(footprint(given));
  }

  // Of what slabs kept, so many bytes went because they were too much ...
  void note_reclaim(size_t bytes, size_t dirty) noexcept {
    refault_.note_given(bytes, bytes + free_in_slabs_ + dirty, os::System::now_ms());
  }
  // ... and blocks were taken from so many that had gone.
  void note_taken_back(size_t bytes) noexcept { refault_.note_taken(bytes, os::System::now_ms()); }

  // May be kept because giving back was refaulted, whatever the bound is.
  size_t refaulted() const noexcept {
    return TALUS_LIKELY(!refault_.is_any()) ? 0 : refault_.may_keep(os::System::now_ms());
  }
  // What is free and touched, and nobody needed lately.
  size_t surplus() const noexcept { return dirty_mark_.surplus(); }

  // Lets time pass; returns the surplus.
  size_t turn(uint64_t turns, size_t given, size_t dirty) noexcept {
    reversed_ms_ = os::System::now_ms();
    most_before_turn_ = use_mark_.most();
    // The turn that ends first may hold an old mark; more than all others tell nothing new.
    if (turns > LowMark::turns_kept + 1) turns = LowMark::turns_kept + 1;
    for (; turns > 0; turns--) {
      dirty_mark_.turn(dirty);
      use_mark_.turn(footprint(given));
    }
    return surplus();
  }
  // For who gives back: lets time pass where no helper did; returns the surplus, 0 if it is early.
  size_t turn_if_late(size_t given, size_t dirty) noexcept {
    const uint64_t turn_ms = options.decay_ms / LowMark::turns_kept;
    const uint64_t late_ms = os::System::now_ms() - reversed_ms_;
    if (late_ms <= 2 * turn_ms) return 0;
    return turn(turn_ms == 0 ? late_ms : late_ms / turn_ms, given, dirty);
  }

  // Dirty bytes that may be kept. Slabs take their part of it, but for the last sixteenth.
  size_t dirty_bytes_max(size_t given, Reclaimer reclaimer) const noexcept {
    if (keeps_nothing()) return 0;
    const size_t most = options.retain_bytes - uncounted(options.retain_bytes);
    const size_t bound = Greater::of(most, wider_bound(given, reclaimer));
    return Greater::of(bound > free_in_slabs_ ? bound - free_in_slabs_ : 0, most / 16);
  }
  // So much more is free and touched than may be. Large heaps may keep an eighth in slabs.
  size_t excess_bytes(size_t given, size_t dirty, Reclaimer reclaimer) const noexcept {
    const size_t bound = Greater::of(options.retain_bytes, given / 8);
    const size_t most = Greater::of(bound - uncounted(bound), wider_bound(given, reclaimer));
    const size_t kept = free_in_slabs_ + dirty;
    return kept > most ? kept - most : 0;
  }

 private:
  static bool keeps_nothing() noexcept {
    return options.decay_ms == 0 || options.retain_bytes == 0;
  }
  size_t in_use(size_t given) const noexcept {
    const size_t unused = free_in_slabs_ + moving_;
    return given > unused ? given - unused : 0;
  }
  // ... with what lay free between that in slabs, up to the eighth that any heap may keep.
  size_t footprint(size_t given) const noexcept {
    const size_t used = in_use(given);
    return used + (free_in_slabs_ < used / 8 ? free_in_slabs_ : used / 8);
  }
  // Bytes that were in use at the same time as those that are now.
  size_t used_lately(size_t given, Reclaimer reclaimer) const noexcept {
    const size_t now = in_use(given);
    size_t most = use_mark_.most();
    if (reclaimer == Reclaimer::caller) most = Greater::of(most, most_before_turn_);
    return most > now ? most - now : 0;
  }
  // What may be kept, whatever the bound is. Where nothing may, nothing is refaulted.
  size_t wider_bound(size_t given, Reclaimer reclaimer) const noexcept {
    const size_t used = used_lately(given, reclaimer);
    return keeps_nothing() ? used : Greater::of(used, refaulted());
  }
  // Where slabs keep much, threads hold some of it in their lists, and the first touch of a huge
  // page made more of it resident than was given: that is part of the bound, too.
  size_t uncounted(size_t bound) const noexcept {
    return free_in_slabs_ > bound / 8 ? bound / 8 + bound / 16 : 0;
  }

  Refault refault_;
  LowMark dirty_mark_;
  HighMark use_mark_;
  size_t most_before_turn_ = 0;  // of use_mark_
  uint64_t reversed_ms_ = 0;
  size_t free_in_slabs_ = 0;  // as heaps told (heap/purge_request.hpp)
  size_t moving_ = 0;
};

}  // namespace talus

#endif  // TALUS_SPACE_RETENTION_HPP
