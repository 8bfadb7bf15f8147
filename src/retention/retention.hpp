// SPDX-License-Identifier: MIT
// retention/retention: the terms of the goal (retention/goal.hpp), as they change over time.
//
// Owns: the marks of what was free and what was in use lately, what slabs keep free, and what is
// moving. The least that was free during the last decay_ms is surplus (base/low_mark.hpp). The most
// that was in use at once is needed again (base/high_mark.hpp): memory that comes and goes in large
// steps would otherwise be purged and touched again in each step. While it stays, the process has
// no more memory than it just had. Where such steps return at intervals of seconds, memory stays
// longer (retention/bursts.hpp).
// Called on: under the space lock. Must not know: where the memory lies.
#ifndef TALUS_RETENTION_RETENTION_HPP
#define TALUS_RETENTION_RETENTION_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "retention/bursts.hpp"
#include "retention/goal.hpp"
#include "retention/refault.hpp"

namespace talus::core {

// Which thread asks for the excess. Excess that arises only because time passes is left to the
// background thread first. A turn later the program's own threads purge it when they allocate or
// free.
enum class Reclaimer : uint8_t { background, caller };

// "Given" bytes have users, "dirty" bytes are free and may be resident. "In use" is what is given,
// less what slabs have free and what is given twice.
class Retention {
  friend struct ObservedLayout;  // observe/observed_fields.hpp

 public:
  // Bytes were given to a user.
  void note(size_t given, size_t dirty) noexcept {
    use_mark_.note(footprint(given));
    dirty_mark_.note(dirty);
    TALUS_ASSERT(is_noted(given, dirty));
  }
  // The marks after this was noted: no less was in use at once, and what is surplus is dirty.
  bool is_noted(size_t given, size_t dirty) const noexcept {
    return use_mark_.most() >= footprint(given) && dirty_mark_.surplus() <= dirty;
  }
  // Contents are moving between two ranges of `bytes`, both of which are given.
  void begin_move(size_t bytes) noexcept { moving_ += bytes; }
  void end_move(size_t bytes) noexcept { moving_ -= bytes < moving_ ? bytes : moving_; }
  void forget_moves() noexcept { moving_ = 0; }
  // `bytes` of the surplus were purged.
  void subtract_purged(size_t bytes) noexcept { dirty_mark_.subtract_purged(bytes); }
  // Slabs keep `bytes` more free touched memory than before; wraps where it is less.
  void add_free_in_slabs(size_t bytes, size_t given) noexcept {
    free_in_slabs_ += bytes;
    use_mark_.note(footprint(given));
  }

  size_t free_in_slabs() const noexcept { return free_in_slabs_; }

  // `bytes` of free memory in slabs were purged because they exceeded the bound.
  void note_reclaim(size_t bytes, size_t dirty) noexcept {
    refault_.note_given(bytes, bytes + free_in_slabs_ + dirty, os::System::now_ms());
  }
  // Blocks were taken from `bytes` of purged pages.
  void note_taken_back(size_t bytes) noexcept {
    refault_.note_taken(bytes, os::System::now_ms());
    taken_back_bytes_ += bytes;
  }
  size_t taken_back_bytes() const noexcept { return taken_back_bytes_; }

  // A caller met the soft limit, or too much is kept: the next slow path is to reclaim. These three
  // need no lock.
  bool is_asked_to_reclaim() const noexcept { return shared_is_asked_to_reclaim_.load_hint(); }
  void ask_to_reclaim() noexcept { shared_is_asked_to_reclaim_.store_hint(true); }
  void relax() noexcept { shared_is_asked_to_reclaim_.store_hint(false); }

  // Bytes that may be kept, whatever the bound is, because purged memory was refaulted.
  size_t refaulted() const noexcept {
    return TALUS_LIKELY(!refault_.is_any()) ? 0 : refault_.may_keep(os::System::now_ms());
  }
  // Free touched memory that was not needed lately, and that no burst is expected to need.
  size_t surplus(size_t given, size_t dirty) const noexcept {
    return without_burst(dirty_mark_.surplus(), given, dirty);
  }
  // The part of a surplus, of ranges or of a heap, that the next burst does not need.
  size_t without_burst(size_t surplus, size_t given, size_t dirty) const noexcept {
    return beyond(surplus, dirty, needed_by_burst(given, dirty));
  }
  // Free touched memory that stays for the next burst, as of the last turn.
  size_t burst_bytes() const noexcept { return burst_bytes_; }

  // Lets `turns` pass; returns the surplus.
  size_t turn(uint64_t turns, size_t given, size_t dirty) noexcept {
    reversed_ms_ = os::System::now_ms();
    most_before_turn_ = use_mark_.most();
    if (turns != 0) bursts_.turn(use_mark_.of_this_turn(), footprint(given), reversed_ms_);
    // The turn that ends first may hold an old mark; more turns than are kept add nothing.
    if (turns > LowMark::turns_kept + 1) turns = LowMark::turns_kept + 1;
    for (; turns > 0; turns--) {
      dirty_mark_.turn(dirty);
      use_mark_.turn(footprint(given));
    }
    TALUS_ASSERT(is_noted(given, dirty));
    burst_bytes_ = needed_by_burst(given, dirty);
    return beyond(dirty_mark_.surplus(), dirty, burst_bytes_);
  }
  // For threads that give ranges back: lets time pass where no background thread did. Returns the
  // surplus; 0: it is too early.
  size_t turn_if_late(size_t given, size_t dirty) noexcept {
    const uint64_t turn_ms = options.decay_ms / LowMark::turns_kept;
    const uint64_t late_ms = os::System::now_ms() - reversed_ms_;
    if (late_ms <= 2 * turn_ms) return 0;
    return turn(turn_ms == 0 ? late_ms : late_ms / turn_ms, given, dirty);
  }

  // Dirty bytes that may be kept.
  size_t dirty_bytes_max(size_t given, Reclaimer reclaimer) const noexcept {
    return goal(given, reclaimer).ranges_max();
  }
  // By how much free touched memory exceeds its bound.
  size_t excess_bytes(size_t given, size_t dirty, Reclaimer reclaimer) const noexcept {
    return goal(given, reclaimer).excess(dirty);
  }

 private:
  ReclaimGoal goal(size_t given, Reclaimer reclaimer) const noexcept {
    size_t most = use_mark_.most();
    if (reclaimer == Reclaimer::caller) most = Greater::of(most, most_before_turn_);
    most = Greater::of(most, expected_again());
    const size_t retain = options.retain_bytes;
    const bool keeps_nothing = options.decay_ms == 0 || retain == 0;
    const size_t refaults = keeps_nothing ? 0 : refaulted();
    return {given, free_in_slabs_, moving_, retain, most, refaults, keeps_nothing};
  }
  // The footprint that a burst is expected to have. 0: none is, or little may be kept.
  size_t expected_again() const noexcept {
    if (TALUS_LIKELY(!bursts_.is_pattern())) return 0;
    if (options.decay_ms < burst_decay_ms_min || options.retain_bytes < burst_bytes_min) return 0;
    return bursts_.expected(os::System::now_ms());
  }
  size_t free_bytes(size_t dirty) const noexcept { return free_in_slabs_ + dirty; }
  // The part of a surplus that lies beyond `kept` bytes of free touched memory.
  size_t beyond(size_t surplus, size_t dirty, size_t kept) const noexcept {
    return TALUS_LIKELY(kept == 0) ? surplus : Lesser::of(surplus, free_bytes(dirty) - kept);
  }
  // Of free touched memory, what the next burst needs.
  size_t needed_by_burst(size_t given, size_t dirty) const noexcept {
    const size_t expected = expected_again();
    if (TALUS_LIKELY(expected == 0)) return 0;
    const size_t in_use = ReclaimGoal{given, free_in_slabs_, moving_}.in_use();
    return expected > in_use ? Lesser::of(expected - in_use, free_bytes(dirty)) : 0;
  }
  size_t footprint(size_t given) const noexcept {
    return ReclaimGoal{given, free_in_slabs_, moving_}.footprint();
  }

  Refault refault_;
  Bursts bursts_;
  LowMark dirty_mark_;
  HighMark use_mark_;
  size_t most_before_turn_ = 0;  // of use_mark_
  uint64_t reversed_ms_ = 0;
  size_t free_in_slabs_ = 0;  // as heaps reported (heap/purge_request.hpp)
  size_t moving_ = 0;
  size_t burst_bytes_ = 0;
  size_t taken_back_bytes_ = 0;  // so far
  Atomic<bool> shared_is_asked_to_reclaim_;
};

}  // namespace talus::core

#endif  // TALUS_RETENTION_RETENTION_HPP
