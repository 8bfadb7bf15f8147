// SPDX-License-Identifier: MIT
// space/giving_back: purges free ranges: the surplus, the excess over a bound, and what is asked
// for.
//
// Owns: how much may stay (retention/retention.hpp), and the ranges that are being purged.
// Invariants: a range that is being purged is in no index and has no user; the oldest ranges go
// first; the kernel is entered without the lock. Called on: any thread, under the space lock.
// Must not know: what ranges are used for.
#ifndef TALUS_SPACE_GIVING_BACK_HPP
#define TALUS_SPACE_GIVING_BACK_HPP

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "settings/machine.hpp"
#include "os/os.hpp"
#include "space/node_supply.hpp"
#include "space/purge_piece.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/arenas.hpp"
#include "space/page_map.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus::core {

class GivingBack : public NodeSupply {
 public:
  // Purges dirty ranges until at most `keep_bytes` remain. Returns bytes purged.
  size_t trim(Held<SpaceLock>& held, size_t keep_bytes) noexcept {
    refused_ms_ = 0;  // an explicit call asks the kernel in any case
    begin_refusals(os::System::now_ms());
    return trim_unless_refused(held, keep_bytes);
  }
  size_t trim_unless_refused(Held<SpaceLock>& held, size_t keep_bytes) noexcept {
    purge_rests_of_huge(held);
    return dirty_bytes() > keep_bytes ? purge(held, dirty_bytes() - keep_bytes, PurgeMode::forced)
                                      : 0;
  }

  // Purges all dirty ranges. Huge pages keep what is resident behind their users.
  void give_back_dirty(Held<SpaceLock>& held) noexcept {
    purge(held, dirty_bytes(), PurgeMode::forced);
  }

  // Purges the surplus, once for each pass of the background thread. Returns bytes purged.
  size_t give_back_surplus(Held<SpaceLock>& held, uint64_t turns) noexcept {
    const size_t surplus = retention_.turn(turns, counters_.given_bytes, dirty_bytes());
    return surplus != 0 ? purge(held, surplus, PurgeMode::background) : 0;
  }

  // Free touched memory that was not needed lately.
  size_t surplus_bytes(Held<SpaceLock>&) const noexcept { return retention_.surplus(); }

  size_t refaulted_bytes(Held<SpaceLock>&) const noexcept { return retention_.refaulted(); }

  // Slabs keep `bytes` more free touched memory, which counts as retained, too; wraps.
  void add_free_in_slabs(Held<SpaceLock>&, size_t bytes) noexcept {
    retention_.add_free_in_slabs(bytes, counters_.given_bytes);
  }
  // The kernel is about to move the pages of a range of `bytes` to another, until end_move().
  void begin_move(Held<SpaceLock>&, size_t bytes) noexcept { retention_.begin_move(bytes); }
  void end_move(Held<SpaceLock>&, size_t bytes) noexcept { retention_.end_move(bytes); }
  // In the child of a fork: the moving threads do not exist.
  void forget_moves(Held<SpaceLock>&) noexcept { retention_.forget_moves(); }
  void note_reclaim(Held<SpaceLock>&, size_t bytes) noexcept {
    retention_.note_reclaim(bytes, dirty_bytes());
  }
  void note_taken_back(Held<SpaceLock>&, size_t bytes) noexcept {
    retention_.note_taken_back(bytes);
    taken_back_bytes_ += bytes;
  }
  // Bytes of purged pages in slabs from which blocks were taken again so far.
  size_t taken_back_bytes(Held<SpaceLock>&) const noexcept { return taken_back_bytes_; }
  // Purges the excess of the dirty ranges, at most about `bytes_most`.
  void reclaim_ranges(Held<SpaceLock>& held, Reclaimer reclaimer, size_t bytes_most) noexcept {
    const size_t most = retention_.dirty_bytes_max(counters_.given_bytes, reclaimer);
    if (dirty_bytes() <= most) return;
    const size_t excess = dirty_bytes() - most;
    purge(held, excess < bytes_most ? excess : bytes_most, PurgeMode::forced);
  }
  // By how much free touched memory exceeds its bound.
  size_t excess_bytes(Held<SpaceLock>&, Reclaimer reclaimer) const noexcept {
    return retention_.excess_bytes(counters_.given_bytes, dirty_bytes(), reclaimer);
  }
  // Does the soft limit require that all free memory is purged?
  bool is_above_soft_limit(Held<SpaceLock>&) const noexcept {
    return counters_.given_bytes + dirty_bytes() > soft_limit();
  }
  // A caller met the soft limit, or too much is kept.
  bool is_asked_to_reclaim() const noexcept { return shared_is_asked_to_reclaim_.load_hint(); }
  void ask_to_reclaim() noexcept { shared_is_asked_to_reclaim_.store_hint(true); }
  void relax() noexcept { shared_is_asked_to_reclaim_.store_hint(false); }

  bool may_give_up_huge(Held<SpaceLock>&) const noexcept { return arenas_.may_give_up_huge(); }
  // Purges what lies free behind the users of huge pages; afterwards it could not be told from
  // clean ranges.
  void give_up_huge(Held<SpaceLock>& held) noexcept {
    if (!arenas_.may_give_up_huge()) return;
    purge_rests_of_huge(held);
    arenas_.give_up_huge();
  }
  void count_purged(Held<SpaceLock>&, size_t bytes, size_t steps) noexcept {
    counters_.purged_bytes += bytes;
    counters_.purge_count += steps;
  }

  size_t purging_bytes() const noexcept { return purging_bytes_; }
  // In the child of a fork: ranges that other threads were purging are free again, and count as
  // touched. The caller's own purge continues (a signal handler that interrupted it called fork).
  void take_back_purges(Held<SpaceLock>&) noexcept {
    const uintptr_t caller = arch::thread_pointer();
    for (Purge& purge : purges_) {
      if (purge.range == nullptr || purge.thread == caller) continue;
      FreeRange& range = *purge.range;
      end_purge(purge);
      put_back(range, range.base, range.slices);
    }
  }

 protected:
  // Purges the excess over the bound that holds while `given` bytes have users.
  TALUS_USUAL void keep_bound(Held<SpaceLock>& held, size_t given) noexcept {
    const size_t most = retention_.dirty_bytes_max(given, Reclaimer::caller);
    if (dirty_bytes() > most) purge(held, dirty_bytes() - most, PurgeMode::forced);
  }
  // Above the soft limit, pages are purged before new ones are touched.
  void keep_soft_limit(Held<SpaceLock>& held, size_t slices) noexcept {
    const size_t soft = soft_limit();
    const size_t given = counters_.given_bytes + slices * slice_bytes;
    if (TALUS_LIKELY(given + dirty_bytes() <= soft)) return;
    trim_unless_refused(held, given < soft ? soft - given : 0);
    ask_to_reclaim();  // slabs may have pages to purge, too
  }
  // The same after a range was given back; only from 1/32 of the limit on, because each call costs.
  void keep_soft_limit_nearly(Held<SpaceLock>& held) noexcept {
    const size_t soft = soft_limit();
    if (dirty_bytes() > soft / 32 && is_above_soft_limit(held)) keep_soft_limit(held, 0);
  }
  // Called before `slices` of untouched memory are taken. May unlock for a while.
  TALUS_USUAL void make_way(Held<SpaceLock>& held, size_t slices) noexcept {
    keep_soft_limit(held, slices);
    keep_bound(held, counters_.given_bytes + slices * slice_bytes);
  }
  // Purges a part of a free range, outside the lock; needs nodes at hand. False: the kernel
  // refused, or purged only a part; the piece stays dirty.
  // If the place of a huge page becomes free, the whole place is purged at once. A place that is
  // purged piece by piece keeps its table of small pages, and is filled with small pages from then
  // on. Linux drops an empty table in a call that covers all of it, from 6.14 on.
  // The analysis cannot unlock a proof that is a parameter.
  TALUS_USUAL bool purge_piece(Held<SpaceLock>& held, FreeRange& from,
                               const PurgePiece& piece) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    const size_t place_bytes = arenas_.provider() == nullptr ? arena_alignment : slice_bytes;
    FreeRange& node = take_out(from, piece.base, piece.slices, place_bytes);
    Purge& purge = begin_purge(node);
    held.unlock_for_a_while();
    const bool done = arenas_.purge(node.base, node.bytes());
    held.lock_again();
    end_purge(purge);
    put_back(node, piece.base, done ? 0 : piece.slices);
    return done;
  }

  // The first touch of a huge page makes all of it resident, also what is free behind its user.
  void purge_rests_of_huge(Held<SpaceLock>& held) noexcept {
    uintptr_t base = 0;
    while (arenas_.has_huge() && purger_count_ < purgers_max && supply_nodes()) {
      FreeRange* range = next_clean(base);
      if (range == nullptr) return;
      base = range->base;
      size_t rest = (round_up(base, arena_alignment) - base) / slice_bytes;
      if (rest > range->slices) rest = range->slices;
      if (rest != 0 && arenas_.is_huge(base)) purge_piece(held, *range, PurgePiece{base, rest});
    }
  }

  // Purges at least `bytes_wanted` of the dirty ranges if they have it, oldest first. Returns bytes
  // purged.
  TALUS_USUAL size_t purge(Held<SpaceLock>& held, size_t bytes_wanted, PurgeMode mode) noexcept {
    const uint64_t begun_ms = os::System::now_ms();
    if (!arenas_.may_purge() || begun_ms < refused_ms_ + refusal_pause_ms) return 0;
    if (begun_ms - refusals_since_ms_ >= refusal_memory_ms) begin_refusals(begun_ms);
    size_t purged = 0;
    // Ranges that are left alone become the newest: stop before meeting them again.
    size_t left_alone = 0, refusals = 0;
    PurgePace pace{mode, os::System::now_ns()};
    while (purged < bytes_wanted && purger_count_ < purgers_max && supply_nodes()) {
      if (oldest() == nullptr) break;
      FreeRange& from = *oldest();
      const PurgePiece piece = piece_of(from, bytes_wanted - purged, pace);
      if (piece.base == 0) {
        make_newest(from);
        if (++left_alone > free_range_count()) break;
        continue;
      }
      if (!purge_piece(held, from, piece)) {
        pace.note_refusal(piece);
        if (++refusals > refusals_max) break;
        continue;
      }
      refusals = 0;
      const size_t bytes = piece.slices * slice_bytes;
      purged += bytes;
      retention_.subtract_purged(bytes);
      count_purged(held, bytes, 1);
      pace.note_call(bytes, os::System::now_ns());
    }
    if (purged == 0 && (refusals != 0 || left_alone != 0)) refused_ms_ = begun_ms;
    purged_with_map_ += purged;
    if (TALUS_UNLIKELY(purged_with_map_ >= map_drop_bytes)) drop_map_of_purged();
    return purged;
  }

  Retention retention_;

 private:
  // The bound on given and dirty bytes. Without a soft limit the hard limit serves.
  static size_t soft_limit() noexcept {
    const size_t soft = limits.soft_bytes.load_hint();  // both may change at any time
    const size_t hard = limits.hard_bytes.load_hint();
    return soft != 0 ? soft : hard != 0 ? hard : SIZE_MAX;
  }

  // Base 0: the range is better left alone, or the kernel refused it just now.
  PurgePiece piece_of(FreeRange& from, size_t bytes_wanted, const PurgePace& pace) const noexcept {
    if (from.refused_in == refusals_turn_) return {};
    if (pace.has_passed_over(from)) {
      from.refused_in = refusals_turn_;
      return {};
    }
    return choose_piece(from, bytes_wanted, pace, arenas_.is_huge(from.base));
  }
  // The kernel may be asked again for ranges that it refused before.
  TALUS_COLD void begin_refusals(uint64_t now_ms) noexcept {
    refusals_since_ms_ = now_ms;
    if (++refusals_turn_ == 0) refusals_turn_ = 1;
  }

  // Each purged piece leaves its ends in the page map. When the pieces purged cover several pages
  // of the map, the map's pages inside the joined ranges are purged, too.
  TALUS_COLD void drop_map_of_purged() noexcept {
    purged_with_map_ = 0;
    for (FreeRange* range = next_clean(0); range != nullptr; range = next_clean(range->base)) {
      if (range->bytes() >= map_drop_bytes) {
        page_map.drop_pages_within(range->base, range->slices);
      }
    }
  }
  // One page of page-map entries and two of descriptors describe this many bytes of addresses.
  static constexpr size_t map_drop_bytes = 64 * mib;

  static constexpr size_t purgers_max = 16;  // threads that purge at a time
  // After this many refusals in a row the kernel is not asked again for a while: the program may
  // keep all of its memory locked. A slice takes several, and refused ranges lie together.
  static constexpr size_t refusals_max = 64;
  static constexpr uint64_t refusal_pause_ms = 100;
  // How long a range is left alone that the kernel refused completely.
  static constexpr uint64_t refusal_memory_ms = 1000;

  // A range that a thread purges without the lock.
  struct Purge {
    FreeRange* range = nullptr;  // null: there is none
    uintptr_t thread = 0;
  };
  // There is room, because the caller checked purger_count_ against purgers_max.
  TALUS_SLOW Purge& begin_purge(FreeRange& range) noexcept {
    Purge* purge = purges_;
    while (purge->range != nullptr) purge++;
    *purge = Purge{&range, arch::thread_pointer()};
    purger_count_++;
    purging_bytes_ += range.bytes();
    return *purge;
  }
  void end_purge(Purge& purge) noexcept {
    purging_bytes_ -= purge.range->bytes();
    purger_count_--;
    purge.range = nullptr;
  }

  Atomic<bool> shared_is_asked_to_reclaim_;
  uint64_t refused_ms_ = 0;
  uint64_t refusals_since_ms_ = 0;
  uint8_t refusals_turn_ = 1;
  size_t purging_bytes_ = 0;
  size_t taken_back_bytes_ = 0;
  size_t purger_count_ = 0;
  size_t purged_with_map_ = 0;  // since the last purge of map pages
  Purge purges_[purgers_max];
};

}  // namespace talus::core

#endif  // TALUS_SPACE_GIVING_BACK_HPP
