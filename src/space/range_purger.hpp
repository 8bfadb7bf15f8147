// SPDX-License-Identifier: MIT
// space/range_purger: purges free ranges, old ones first, down to the goal or as far as asked.
//
// Owns: the ranges that are being purged, and what the kernel refused lately. Invariants: a range
// that is being purged is in no index and has no user; the kernel is entered without the lock.
// The goal itself is retention's (retention/goal.hpp).
// Called on: any thread, under the space lock. Must not know: what ranges are used for.
#ifndef TALUS_SPACE_RANGE_PURGER_HPP
#define TALUS_SPACE_RANGE_PURGER_HPP

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "os/os.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/purge_causes.hpp"
#include "space/purge_piece.hpp"
#include "space/stages.hpp"
#include "space/arenas.hpp"
#include "space/free_ranges.hpp"
#include "space/huge_pages.hpp"
#include "space/ledger.hpp"
#include "space/page_map.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus::core {

class RangePurger {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  // Purges dirty ranges until at most `keep_bytes` remain. Returns bytes purged.
  size_t purge_beyond(Stages& stages, Held<SpaceLock>& held, size_t keep_bytes) noexcept {
    refused_ms_ = 0;  // an explicit call asks the kernel in any case
    begin_refusals(os::System::now_ms());
    return purge_unless_refused(stages, held, keep_bytes);
  }
  size_t purge_unless_refused(Stages& stages, Held<SpaceLock>& held, size_t keep_bytes) noexcept {
    purge_rests_of_huge(stages, held);
    const size_t dirty = stages.dirty_bytes();
    return dirty > keep_bytes ? purge(stages, held, dirty - keep_bytes, PurgeMode::forced) : 0;
  }
  // Purges the excess over the bound that holds while `given` bytes have users.
  TALUS_USUAL void keep_bound(Stages& stages, Held<SpaceLock>& held, size_t given) noexcept {
    const size_t most = stages.retention.dirty_bytes_max(given, Reclaimer::caller);
    if (stages.dirty_bytes() > most) {
      purge(stages, held, stages.dirty_bytes() - most, PurgeMode::forced);
    }
  }
  // Above the soft limit, pages are purged before new ones are touched.
  void keep_soft_limit(Stages& stages, Held<SpaceLock>& held, size_t more_bytes) noexcept {
    const size_t soft = Ledger::soft_limit();
    const size_t given = stages.ledger.limited_bytes() + more_bytes;
    if (TALUS_LIKELY(given + stages.dirty_bytes() <= soft)) return;
    const PurgeReason reason{stages.ledger.causes(), PurgeCause::limit};
    purge_unless_refused(stages, held, given < soft ? soft - given : 0);
    stages.retention.ask_to_reclaim();  // slabs may have pages to purge, too
  }
  // The same after a range was given back; only from 1/32 of the limit on, because each call costs.
  void keep_soft_limit_nearly(Stages& stages, Held<SpaceLock>& held) noexcept {
    const size_t dirty = stages.dirty_bytes();
    if (dirty > Ledger::soft_limit() / 32 && stages.ledger.is_above_soft_limit(dirty)) {
      keep_soft_limit(stages, held, 0);
    }
  }
  // Called before `slices` of untouched memory are taken. May unlock for a while.
  TALUS_USUAL void make_way(Stages& stages, Held<SpaceLock>& held, size_t slices) noexcept {
    keep_soft_limit(stages, held, slices * slice_bytes);
    keep_bound(stages, held, stages.given_bytes() + slices * slice_bytes);
  }
  // No free range has room for these bytes. Where more is free than in use, as much is purged as
  // will be touched, so that memory divided into unfit ranges does not add to the peak. May unlock
  // for a while.
  void exchange(Stages& stages, Held<SpaceLock>& held, size_t bytes) noexcept {
    if (bytes < exchange_bytes_min || stages.dirty_bytes() <= stages.given_bytes()) return;
    purge(stages, held, bytes, PurgeMode::forced);
  }
  // The first touch of a huge page makes all of it resident, also what is free behind its user.
  void purge_rests_of_huge(Stages& stages, Held<SpaceLock>& held) noexcept {
    uintptr_t base = 0;
    while (stages.huge.has_huge() && purger_count_ < purgers_max && stages.supply_nodes()) {
      FreeRange* range = stages.ranges.next_clean(base);
      if (range == nullptr) return;
      base = range->base;
      size_t rest = (round_up(base, arena_alignment) - base) / slice_bytes;
      if (rest > range->slices) rest = range->slices;
      if (rest != 0 && stages.huge.is_huge(base)) purge_piece(stages, held, *range, {base, rest});
    }
  }
  // Purges at least `bytes_wanted` of the dirty ranges if they have it, in the order of
  // next_source(). Returns bytes purged.
  TALUS_USUAL size_t purge(Stages& stages, Held<SpaceLock>& held, size_t bytes_wanted,
                           PurgeMode mode) noexcept {
    const uint64_t begun_ms = os::System::now_ms();
    if (!stages.arenas.may_purge() || begun_ms < refused_ms_ + refusal_pause_ms) return 0;
    if (begun_ms - refusals_since_ms_ >= refusal_memory_ms) begin_refusals(begun_ms);
    size_t purged = 0;
    // Ranges that are left alone become the newest: stop before meeting them again.
    size_t left_alone = 0, refusals = 0;
    PurgePace pace{mode, os::System::now_ns()};
    while (purged < bytes_wanted && purger_count_ < purgers_max && stages.supply_nodes()) {
      if (stages.ranges.oldest() == nullptr) break;
      const Source source = next_source(stages, *stages.ranges.oldest(), pace);
      FreeRange& from = source.range;
      const PurgePiece piece = piece_of(stages, source, bytes_wanted - purged, pace);
      if (piece.base == 0) {
        stages.ranges.make_newest(from);
        if (++left_alone > stages.ranges.free_range_count()) break;
        continue;
      }
      if (!purge_piece(stages, held, from, piece)) {
        pace.note_refusal(piece);
        if (++refusals > refusals_max) break;
        continue;
      }
      refusals = 0;
      const size_t bytes = piece.slices * slice_bytes;
      purged += bytes;
      stages.retention.subtract_purged(bytes);
      stages.ledger.note_purged(bytes, 1);
      pace.note_call(bytes, os::System::now_ns());
    }
    if (purged == 0 && (refusals != 0 || left_alone != 0)) refused_ms_ = begun_ms;
    purged_with_map_ += purged;
    if (TALUS_UNLIKELY(purged_with_map_ >= map_purge_bytes)) purge_map_of_purged(stages.ranges);
    return purged;
  }

  size_t purging_bytes() const noexcept { return purging_bytes_; }
  // In the child of a fork: ranges that other threads were purging are free again, and count as
  // touched. The caller's own purge continues (a signal handler that interrupted it called fork).
  void take_back_purges(FreeRanges& ranges) noexcept {
    const uintptr_t caller = arch::thread_pointer();
    for (Purge& purge : purges_) {
      if (purge.range == nullptr || purge.thread == caller) continue;
      FreeRange& range = *purge.range;
      end_purge(purge);
      ranges.put_back(range, range.base, range.slices);
    }
  }

 private:
  // A range that a thread purges without the lock.
  struct Purge {
    FreeRange* range = nullptr;  // null: there is none
    uintptr_t thread = 0;
  };

  // Purges a part of a free range, outside the lock; needs nodes at hand. False: the kernel
  // refused, or purged only a part; the piece stays dirty.
  // If the place of a huge page becomes free, the whole place is purged at once. A place that is
  // purged piece by piece keeps its table of small pages, and is filled with small pages from then
  // on. Linux drops an empty table in a call that covers all of it, from 6.14 on.
  // The analysis cannot unlock a proof that is a parameter.
  TALUS_USUAL bool purge_piece(Stages& stages, Held<SpaceLock>& held, FreeRange& from,
                               const PurgePiece& piece) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    const size_t place_bytes = stages.arenas.provider() == nullptr ? arena_alignment : slice_bytes;
    FreeRange& node = stages.ranges.take_out(from, piece.base, piece.slices, place_bytes);
    Purge& purge = begin_purge(node);
    held.unlock_for_a_while();
    const bool done = stages.arenas.purge(node.base, node.bytes());
    held.lock_again();
    end_purge(purge);
    stages.ranges.put_back(node, piece.base, done ? 0 : piece.slices);
    return done;
  }
  // A dirty range, and what of it may be purged next.
  struct Source {
    FreeRange& range;
    PurgePart part;
  };

  // A huge page that is purged in part, because a user has the rest, comes back one small page at a
  // time. So forced purging takes the oldest range that has whole huge pages. If the first few have
  // none, it takes all of the oldest. docs/decisions/0042 has the measurements.
  TALUS_USUAL Source next_source(const Stages& stages, FreeRange& oldest,
                                 const PurgePace& pace) const noexcept {
    const bool is_choosy = pace.mode() == PurgeMode::forced && !pace.met_refusal();
    FreeRange* at = is_choosy && stages.huge.has_huge() ? &oldest : nullptr;
    for (size_t looks = 0; at != nullptr && looks < whole_looks; looks++, at = at->newer) {
      const PurgePart part = whole_part(stages.huge, *at);
      if (!part.is_empty() && at->refused_in != refusals_turn_) return {*at, part};
    }
    return {oldest, PurgePart::all_of(oldest)};
  }
  // The range without the ends that share a huge page with a user.
  static PurgePart whole_part(const HugePagePolicy& huge, const FreeRange& range) noexcept {
    PurgePart part = PurgePart::all_of(range);
    const uintptr_t first = round_down(part.base, arena_alignment);
    const uintptr_t last = round_up(part.end, arena_alignment);
    const FreeRange* before = FreeRanges::clean_range_at(part.base - 1);
    const FreeRange* after = FreeRanges::clean_range_at(part.end);
    const bool is_free_before = first == part.base || (before != nullptr && before->base <= first);
    const bool is_free_behind = last == part.end || (after != nullptr && after->end() >= last);
    if (!is_free_before && huge.is_huge(range.base)) part.base = first + arena_alignment;
    if (!is_free_behind && huge.is_huge(range.end() - 1)) part.end = last - arena_alignment;
    return part;
  }
  // Base 0: the range is better left alone, or the kernel refused it just now.
  PurgePiece piece_of(const Stages& stages, const Source& source, size_t bytes_wanted,
                      const PurgePace& pace) const noexcept {
    FreeRange& from = source.range;
    if (from.refused_in == refusals_turn_) return {};
    if (pace.has_passed_over(PurgePart::all_of(from))) {
      from.refused_in = refusals_turn_;
      return {};
    }
    return choose_piece(source.part, bytes_wanted, pace, stages.huge.is_huge(from.base));
  }
  // The kernel may be asked again for ranges that it refused before.
  TALUS_COLD void begin_refusals(uint64_t now_ms) noexcept {
    refusals_since_ms_ = now_ms;
    if (++refusals_turn_ == 0) refusals_turn_ = 1;
  }
  // Each purged piece leaves its ends in the page map. When the pieces purged cover several pages
  // of the map, the map's pages inside the joined ranges are purged, too.
  TALUS_APART void purge_map_of_purged(const FreeRanges& ranges) noexcept {
    purged_with_map_ = 0;
    for (FreeRange* range = ranges.next_clean(0); range != nullptr;
         range = ranges.next_clean(range->base)) {
      if (range->bytes() >= map_purge_bytes) {
        page_map.purge_within(range->base, range->slices);
      }
    }
  }
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

  // One page of page-map entries and two of descriptors describe this many bytes of addresses.
  static constexpr size_t map_purge_bytes = 64 * mib;
  static constexpr size_t purgers_max = 16;  // threads that purge at a time
  // How many of the oldest ranges are looked at for whole huge pages before each call.
  static constexpr size_t whole_looks = 16;
  // After this many refusals in a row the kernel is not asked again for a while: the program may
  // keep all of its memory locked. A slice takes several, and refused ranges lie together.
  static constexpr size_t refusals_max = 64;
  static constexpr uint64_t refusal_pause_ms = 100;
  // How long a range is left alone that the kernel refused completely.
  static constexpr uint64_t refusal_memory_ms = 1000;

  uint64_t refused_ms_ = 0;
  uint64_t refusals_since_ms_ = 0;
  uint8_t refusals_turn_ = 1;
  size_t purging_bytes_ = 0;
  size_t purger_count_ = 0;
  size_t purged_with_map_ = 0;  // since the last purge of map pages
  Purge purges_[purgers_max];
};

}  // namespace talus::core

#endif  // TALUS_SPACE_RANGE_PURGER_HPP
