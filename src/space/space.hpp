// SPDX-License-Identifier: MIT
// space: the face of address space. Gives ranges of slices to heaps and takes them back.
//
// Owns: the stages (space/stages.hpp), the purges under way (space/range_purger.hpp), and the space
// lock. A request takes a dirty range first, the one at the highest address, where arenas are
// oldest. Failing that, it takes a dirty range with a clean neighbour, then the highest clean
// range, then new address space. A page fault costs as much as hundreds of fast paths. So touched
// memory is reused before untouched memory, and memory in use stays together. Free touched memory
// is purged, oldest first, as far as it may not stay (retention/goal.hpp).
// Invariant: is_sound(); a slice belongs to one free range or to one user; given memory never
// exceeds the hard limit. Called on: any thread, under the space lock; most calls into the kernel
// are made outside it.
// Must not know: slabs, heaps, threads.
#ifndef TALUS_SPACE_SPACE_HPP
#define TALUS_SPACE_SPACE_HPP

#include "base/base.hpp"
#include "settings/machine.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/arenas.hpp"
#include "space/file_fork.hpp"
#include "space/fill_probe.hpp"
#include "space/free_ranges.hpp"
#include "space/fresh_pages.hpp"
#include "space/huge_pages.hpp"
#include "space/ledger.hpp"
#include "space/metadata.hpp"
#include "space/node_supply.hpp"
#include "space/page_map.hpp"
#include "space/placing.hpp"
#include "space/provider.hpp"
#include "space/purge_causes.hpp"
#include "space/random_start.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"
#include "space/range_purger.hpp"
#include "space/stages.hpp"

namespace talus::core {

class Space {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  SpaceLock& lock() noexcept TALUS_LOCK_RETURNED(lock_) { return lock_; }

  // Ranges for users.

  // Takes `slices`. Base 0: there is no memory, and nothing changed.
  TALUS_USUAL Range take(Held<SpaceLock>& held, size_t slices, const Placing& placing) noexcept
      TALUS_REQUIRES(lock_) {
    RangeRequest request{slices, placing};
    if (!stages_.supply_nodes() || !request.is_possible()) return {};
    if (!stages_.ledger.is_within_limit(slices * slice_bytes)) return {};
    FreeRange* fit = stages_.find_touched(request);
    if (fit == nullptr) {
      purger_.make_way(stages_, held, slices);
      if (request.is_anywhere() && stages_.arenas.provider() == nullptr) {
        if (!stages_.may_take(slices)) return {};  // as in find_or_grow()
        const RangePair pair = stages_.ranges.find_pair(slices);
        if (pair.dirty != nullptr) return stages_.take_pair(pair, request);
      }
      purger_.exchange(stages_, held, slices * slice_bytes);
      fit = find_or_grow(held, request);
      if (fit == nullptr) return {};
    }
    const RangePlace place = stages_.choose_place(*fit, request);
    if (!stages_.arenas.commit(place.base, place.end - place.base, place.free_end)) return {};
    stages_.take_from(*place.from, place.base, slices);
    if (place.zeroed == Zeroed::yes) stages_.begin_use(place, request.filling);
    stages_.nodes.note_user();
    return Range{place.base, slices, place.zeroed};
  }
  // Takes `slices` at a multiple of `alignment` bytes.
  TALUS_USUAL Range take(Held<SpaceLock>& held, size_t slices, size_t alignment = slice_bytes,
                         Filling filling = Filling::unknown) noexcept TALUS_REQUIRES(lock_) {
    return take(held, slices, Placing{alignment, filling});
  }

  // Takes up to `slices` (at least `slices_min`) that start at `base`, if they are free. Returns
  // what it took; `zeroed` as in take(). May enter the kernel, as take() does.
  Range take_at(Held<SpaceLock>& held, uintptr_t base, size_t slices_min, size_t slices) noexcept
      TALUS_REQUIRES(lock_) {
    FreeRange* at = FreeRanges::free_at(base, slices_min);
    if (at != nullptr && at->state == RangeState::clean) {
      if (at->slices < slices) slices = at->slices;
      purger_.make_way(stages_, held, slices);
      // Other threads may have taken it meanwhile. What was purged behind it may have joined it;
      // that is left, because the bound has no room for it.
      at = FreeRanges::free_at(base, slices_min);
    }
    if (at == nullptr) return {};
    if (at->slices < slices) slices = at->slices;
    const auto may_have = [this, base, at](size_t count) TALUS_REQUIRES(lock_) noexcept {
      return stages_.ledger.is_within_limit(count * slice_bytes) &&
             stages_.arenas.commit(base, count * slice_bytes, at->end());
    };
    if (!may_have(slices)) {
      slices = slices_min;
      if (!may_have(slices)) return {};
    }
    const Zeroed zeroed = at->state == RangeState::clean ? Zeroed::yes : Zeroed::no;
    const uintptr_t free_end = at->end();
    stages_.take_from(*at, base, slices);
    if (zeroed == Zeroed::yes && stages_.arenas.provider() == nullptr) {
      stages_.begin_use(base, base + slices * slice_bytes, free_end, Filling::unknown);
    }
    return Range{base, slices, zeroed};
  }

  // Takes a range back whose page-map entries are still its user's. `touched`: any of its pages may
  // hold memory. May enter the kernel to keep the retention bounds.
  TALUS_USUAL void give(Held<SpaceLock>& held, uintptr_t base, size_t slices, bool touched) noexcept
      TALUS_REQUIRES(lock_) {
    page_map.set_ends(base, slices, PageEntry{}, nullptr);
    stages_.ledger.note_returned(slices);
    stages_.nodes.note_return();
    const size_t surplus =
        touched ? stages_.retention.turn_if_late(stages_.given_bytes(), stages_.dirty_bytes()) : 0;
    stages_.huge.end_use(base, base + slices * slice_bytes, touched);
    stages_.ranges.insert(base, slices, touched ? RangeState::dirty : RangeState::clean);
    if (!touched) return;
    if (surplus != 0) purger_.purge(stages_, held, surplus, PurgeMode::background);
    purger_.keep_bound(stages_, held, stages_.given_bytes());
    purger_.keep_soft_limit_nearly(stages_, held);
  }

  // Called after memory beside all ranges got a user (Ledger::note_beside). May unlock for a while.
  void keep_limit(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(lock_) {
    purger_.keep_soft_limit(stages_, held, 0);
  }
  Ledger& ledger(Held<SpaceLock>&) noexcept TALUS_REQUIRES(lock_) { return stages_.ledger; }
  // For a PurgeReason, which needs no lock.
  PurgeCauses& purge_causes() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    return stages_.ledger.causes();
  }
  // May one end of a range be given back? That needs a node, unlike giving back the whole range.
  bool can_divide(Held<SpaceLock>&) noexcept TALUS_REQUIRES(lock_) {
    return stages_.supply_nodes();
  }
  // As give(), for one end of a range, right after can_divide(). The user keeps the rest.
  void give_part(Held<SpaceLock>& held, uintptr_t base, size_t slices, bool touched) noexcept
      TALUS_REQUIRES(lock_) {
    stages_.nodes.note_user();
    give(held, base, slices, touched);
  }

  // Memory for descriptors.

  // Zeroed memory for descriptors; null: none. Falls back on free ranges when the kernel refuses.
  TALUS_USUAL void* take_metadata(Held<SpaceLock>& held, size_t bytes) noexcept
      TALUS_REQUIRES(lock_) {
    if (void* taken = stages_.metadata.take(bytes)) return taken;
    const Range range = take(held, divide_up(bytes + Metadata::chunk_head_bytes, slice_bytes));
    if (range.base == 0) return nullptr;
    void* chunk = reinterpret_cast<void*>(range.base);
    if (range.zeroed == Zeroed::no) clear_bytes(chunk, range.slices * slice_bytes);
    stages_.metadata.add_chunk(chunk, range.slices * slice_bytes);
    return stages_.metadata.take(bytes);
  }
  // The same for optional metadata; null also where it would reduce the memory left for the
  // program.
  void* take_spare_metadata(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(lock_) {
    return stages_.metadata.may_ask() ? stages_.metadata.take(bytes) : nullptr;
  }
  size_t metadata_bytes() const noexcept TALUS_REQUIRES(lock_) {
    return stages_.metadata.used_bytes();
  }
  const MetadataChunk* newest_metadata(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.metadata.newest_chunk();
  }

  // Where memory comes from.

  // From here on memory comes from a provider; untouched addresses from the kernel are forgotten.
  // `all_bytes`: all that the provider has, taken at once; 0: as needed. False: it could not be
  // had.
  bool use_provider(Held<SpaceLock>& held, const PageProvider& from, size_t all_bytes) noexcept
      TALUS_REQUIRES(lock_) {
    if (!stages_.supply_nodes()) return false;
    stages_.forget_clean();
    stages_.arenas.set_provider(from);
    if (all_bytes != 0 && !stages_.grow(all_bytes / slice_bytes, Filling::unknown)) {
      stages_.arenas.forget_provider();
      return false;
    }
    if (!from.holds_descriptors) return true;
    const Range range = take(held, meta_chunk_bytes / slice_bytes);
    if (range.base == 0) return true;
    stages_.metadata.add_chunk(reinterpret_cast<void*>(range.base), range.slices * slice_bytes);
    stages_.metadata.stop_asking();
    return true;
  }
  // May pages of live blocks and partly used slabs at this address be purged or moved? Only the
  // kernel's own pages come back when they are touched. Reads one atomic, so it needs no lock.
  bool may_purge_pages(uintptr_t address) const noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    return TALUS_LIKELY(stages_.arenas.provider() == nullptr) ||
           stages_.arenas.provider_of(address) == nullptr;
  }
  void start_at_random(Held<SpaceLock>&, uint64_t random) noexcept TALUS_REQUIRES(lock_) {
    stages_.start.begin(random);
  }
  const ListedArena* newest_arena(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.arenas.newest();
  }

  // Huge pages (HugePagePolicy). True: the kernel was asked for huge pages here.
  bool is_huge(Held<SpaceLock>&, uintptr_t base) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.huge.is_huge(base);
  }
  // Contents moved from one range with a user to another.
  void note_moved(Held<SpaceLock>&, const Range& from, const Range& to, bool is_filled) noexcept
      TALUS_REQUIRES(lock_) {
    const uintptr_t from_end = from.base + from.slices * slice_bytes;
    stages_.arenas.advise_anew(from.base, from_end);
    stages_.huge.note_moved(from.base, from_end, to.base, to.base + to.slices * slice_bytes,
                            is_filled, stages_.given_bytes(), stages_.metadata);
  }
  // Does the program fill the range with small pages? The first bytes of the range, as many as a
  // huge page has, decide. Asks the kernel only where the answer matters.
  bool is_filled(Held<SpaceLock>&, const Range& range) noexcept TALUS_REQUIRES(lock_) {
    if (!HugePagePolicy::is_adaptive(stages_.given_bytes())) return false;
    const uintptr_t end = range.base + range.slices * slice_bytes;
    if (stages_.huge.has_huge_within(range.base, end)) return false;
    return FillProbe::is_filled(range.base);
  }
  bool may_split_huge(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.huge.may_split();
  }
  // Purges what lies free behind the users of huge pages; afterwards it could not be told from
  // clean ranges.
  void split_huge(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(lock_) {
    if (!stages_.huge.may_split()) return;
    purger_.purge_rests_of_huge(stages_, held);
    stages_.huge.split_all();
  }

  // Purging; how much: retention/goal.hpp.

  // Purges dirty ranges until at most `keep_bytes` remain. Returns bytes purged. Huge pages keep
  // what is resident behind their users.
  size_t purge_beyond(Held<SpaceLock>& held, size_t keep_bytes) noexcept TALUS_REQUIRES(lock_) {
    return purger_.purge_beyond(stages_, held, keep_bytes);
  }
  void purge_dirty(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(lock_) {
    purger_.purge(stages_, held, dirty_bytes(), PurgeMode::forced);
  }
  // Purges the surplus, once for each pass of the background thread. Returns bytes purged.
  size_t purge_surplus(Held<SpaceLock>& held, uint64_t turns) noexcept TALUS_REQUIRES(lock_) {
    const size_t surplus = stages_.retention.turn(turns, stages_.given_bytes(), dirty_bytes());
    return surplus != 0 ? purger_.purge(stages_, held, surplus, PurgeMode::background) : 0;
  }
  // Purges the excess of the dirty ranges, at most about `bytes_most`.
  void reclaim_ranges(Held<SpaceLock>& held, Reclaimer reclaimer, size_t bytes_most) noexcept
      TALUS_REQUIRES(lock_) {
    const size_t most = stages_.retention.dirty_bytes_max(stages_.given_bytes(), reclaimer);
    if (dirty_bytes() <= most) return;
    const size_t excess = dirty_bytes() - most;
    purger_.purge(stages_, held, excess < bytes_most ? excess : bytes_most, PurgeMode::forced);
  }
  // Free touched memory that was not needed lately.
  size_t surplus_bytes(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.surplus(stages_.given_bytes(), dirty_bytes());
  }
  // The part of a heap's surplus that the next burst does not need (retention/bursts.hpp).
  size_t without_burst(Held<SpaceLock>&, size_t surplus) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.without_burst(surplus, stages_.given_bytes(), dirty_bytes());
  }
  size_t burst_bytes() const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.burst_bytes();
  }
  size_t refaulted_bytes(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.refaulted();
  }
  // By how much free touched memory exceeds its bound.
  size_t excess_bytes(Held<SpaceLock>&, Reclaimer reclaimer) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.excess_bytes(stages_.given_bytes(), dirty_bytes(), reclaimer);
  }
  // Does the soft limit require that all free memory is purged?
  bool is_above_soft_limit(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.ledger.is_above_soft_limit(dirty_bytes());
  }
  // A caller met the soft limit, or too much is kept. These three are about one atomic, and need
  // no lock.
  bool is_asked_to_reclaim() const noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    return stages_.retention.is_asked_to_reclaim();
  }
  void ask_to_reclaim() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    stages_.retention.ask_to_reclaim();
  }
  void relax() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS { stages_.retention.relax(); }

  // Reports of the users: see Retention.
  // Slabs keep `bytes` more free touched memory, which counts as retained, too; wraps.
  void add_free_in_slabs(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(lock_) {
    stages_.retention.add_free_in_slabs(bytes, stages_.given_bytes());
  }
  // What slabs were told to keep so far.
  size_t free_in_slabs() const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.free_in_slabs();
  }
  // The kernel is about to move the pages of a range of `bytes` to another, until end_move().
  void begin_move(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(lock_) {
    stages_.retention.begin_move(bytes);
  }
  void end_move(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(lock_) {
    stages_.retention.end_move(bytes);
  }
  // In the child of a fork: the moving threads do not exist.
  void forget_moves(Held<SpaceLock>&) noexcept TALUS_REQUIRES(lock_) {
    stages_.retention.forget_moves();
  }
  void note_reclaim(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(lock_) {
    stages_.retention.note_reclaim(bytes, dirty_bytes());
  }
  void note_taken_back(Held<SpaceLock>&, size_t bytes) noexcept TALUS_REQUIRES(lock_) {
    stages_.retention.note_taken_back(bytes);
  }
  // Bytes of purged pages in slabs from which blocks were taken again so far.
  size_t taken_back_bytes(Held<SpaceLock>&) const noexcept TALUS_REQUIRES(lock_) {
    return stages_.retention.taken_back_bytes();
  }
  void count_purged(Held<SpaceLock>&, size_t bytes, size_t steps) noexcept TALUS_REQUIRES(lock_) {
    stages_.ledger.note_purged(bytes, steps);
  }
  void note_settled(Held<SpaceLock>&) noexcept TALUS_REQUIRES(lock_) {
    stages_.ledger.note_settled();
  }
  // In the child of a fork; see RangePurger.
  void take_back_purges(Held<SpaceLock>&) noexcept TALUS_REQUIRES(lock_) {
    purger_.take_back_purges(stages_.ranges);
  }

  // What is counted.

  const SpaceCounters& counters() const noexcept TALUS_REQUIRES(lock_) {
    return stages_.ledger.counters();
  }
  size_t dirty_bytes() const noexcept TALUS_REQUIRES(lock_) { return stages_.dirty_bytes(); }
  size_t clean_bytes() const noexcept TALUS_REQUIRES(lock_) { return stages_.clean_bytes(); }
  size_t free_range_count() const noexcept TALUS_REQUIRES(lock_) {
    return stages_.ranges.free_range_count();
  }
  size_t purging_bytes() const noexcept TALUS_REQUIRES(lock_) { return purger_.purging_bytes(); }

  // The indexes are sound, and each reserved byte is in use, dirty, clean or being purged.
  bool is_sound() const noexcept TALUS_REQUIRES(lock_) {
    return stages_.ranges.indexes_are_sound() && stages_.ranges.books_are_sound() &&
           stages_.given_bytes() + dirty_bytes() + clean_bytes() + purging_bytes() ==
               stages_.ledger.reserved_bytes();
  }

 private:
  // A range with room, from new addresses if need be; null: no memory. May unlock for a while.
  TALUS_USUAL FreeRange* find_or_grow(Held<SpaceLock>& held, const RangeRequest& request) noexcept
      TALUS_REQUIRES(lock_) {
    // Free ranges that differ only in their state may make room together.
    if (stages_.find(request.wanted) == nullptr && !stages_.grow(request.wanted, request.filling)) {
      purger_.purge(stages_, held, dirty_bytes(), PurgeMode::forced);
    }
    // The lock was unlocked in between: other threads may have used the nodes that were set aside.
    // Must precede find(), because supply_nodes() may itself take from a free range.
    return stages_.may_take(request.slices) ? stages_.find(request.wanted) : nullptr;
  }
  SpaceLock lock_;
  Stages stages_ TALUS_GUARDED_BY(lock_);
  RangePurger purger_ TALUS_GUARDED_BY(lock_);
};

TALUS_CONSTINIT inline Space space;

// Purges pages of a live block, which read as zero afterwards. False: nothing changed.
inline bool purge_pages(void* at, size_t bytes) noexcept {
  return space.may_purge_pages(reinterpret_cast<uintptr_t>(at)) && os::System::purge(at, bytes);
}

}  // namespace talus::core

#endif  // TALUS_SPACE_SPACE_HPP
