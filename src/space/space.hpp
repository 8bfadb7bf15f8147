// SPDX-License-Identifier: MIT
// space: the face of address space. Gives ranges of slices to heaps and takes them back.
//
// Owns: arenas (reserved from the kernel, never returned), the page map, free ranges and metadata.
// A request takes a dirty range first, the one at the highest address, where arenas are oldest.
// Failing that, it takes a dirty range with a clean neighbour, then the highest clean range, then
// new address space. A page fault costs as much as hundreds of fast paths. So touched memory is
// reused before untouched memory, and memory in use stays together. Free touched memory is purged,
// oldest first, when it is surplus, when it exceeds a bound (retention/retention.hpp), or above the
// soft limit.
// Invariant: a slice belongs to one free range or to one user; given memory never exceeds the hard
// limit. Called on: any thread, under the space lock; most calls into the kernel are made outside
// it.
// Must not know: slabs, heaps, threads.
#ifndef TALUS_SPACE_SPACE_HPP
#define TALUS_SPACE_SPACE_HPP

#include "os/bytes.hpp"
#include "settings/machine.hpp"
#include "space/file_fork.hpp"
#include "space/fresh_pages.hpp"
#include "space/giving_back.hpp"
#include "base/base.hpp"
#include "os/os.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/arenas.hpp"
#include "space/fill_probe.hpp"
#include "space/free_ranges.hpp"
#include "space/metadata.hpp"
#include "space/page_map.hpp"
#include "space/provider.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus::core {

// Where a range begins (`phase` bytes behind a multiple of `alignment`) and how it will be filled.
struct Placing {
  size_t alignment = slice_bytes;
  Filling filling = Filling::unknown;
  size_t phase = 0;         // a multiple of a slice, less than the alignment
  bool is_request = false;  // a preference: touched memory may serve wherever it begins

  // The filling of a range of `slices`. The gaps beside an aligned range cost huge pages, too.
  Filling filling_of(size_t slices) const noexcept {
    const size_t bytes = slices * slice_bytes;
    if (TALUS_LIKELY(alignment == slice_bytes) || is_request) return filling;
    if (filling != Filling::unknown || bytes >= arena_alignment) return filling;
    const size_t room = round_up(bytes, alignment);
    return bytes < room - room / 4 ? Filling::apart : filling;
  }
};

class Space : public GivingBack {
 public:
  SpaceLock& lock() noexcept TALUS_LOCK_RETURNED(lock_) { return lock_; }

  // Takes `slices`. Base 0: there is no memory, and nothing changed.
  TALUS_USUAL Range take(Held<SpaceLock>& held, size_t slices, const Placing& placing) noexcept {
    size_t alignment = placing.alignment, phase = placing.phase;
    const Filling filling = placing.filling_of(slices);
    const size_t slack = alignment > slice_bytes ? alignment / slice_bytes - 1 : 0;
    const size_t wanted = slices + slack;
    if (!supply_nodes()) return {};
    if (wanted < slices || wanted > (size_t{1} << (address_bits - slice_shift))) return {};
    if (!is_within_limit(slices)) return {};
    FreeRange* fit = find_dirty(wanted);
    if (fit == nullptr && slack != 0) fit = find_aligned(slices, alignment, phase);
    // Optional alignment never takes untouched pages.
    if (fit == nullptr && placing.is_request && (fit = find_dirty(slices)) != nullptr) {
      alignment = slice_bytes;
      phase = 0;
    }
    if (fit == nullptr) {
      make_way(held, slices);
      const bool is_anywhere = alignment == slice_bytes || placing.is_request;
      if (is_anywhere && arenas_.provider() == nullptr) {
        if (!supply_nodes() || !is_within_limit(slices)) return {};  // see below
        const RangePair pair = find_pair(slices);
        if (pair.dirty != nullptr) return take_pair(pair, slices, filling);
      }
      fit = find(wanted);
      // Free ranges that differ only in their state may make room together.
      if (fit == nullptr && !grow(wanted, filling)) purge(held, dirty_bytes(), PurgeMode::forced);
      // The lock was unlocked in between: other threads may have used the nodes that were set
      // aside. Must precede find(), because supply_nodes() may itself take from a free range.
      if (!supply_nodes() || !is_within_limit(slices)) return {};
      fit = find(wanted);
      if (fit == nullptr) return {};
    }
    const Zeroed zeroed = fit->state == RangeState::clean ? Zeroed::yes : Zeroed::no;
    // Slabs stand together at the upper end; a block of unknown filling may grow, upwards.
    const bool is_from_end = is_for_slab(filling) && zeroed == Zeroed::no && fit->slices >= wanted;
    uintptr_t first = is_from_end ? fit->end() - wanted * slice_bytes : fit->base;
    Taker taker;
    if (zeroed == Zeroed::yes && arenas_.has_huge()) {
      taker = Taker::caller();
      first = fresh_pages_.choose(first, fit->end(), wanted * slice_bytes, counters_.given_bytes,
                                  taker, clean_bytes_at);
      if (first < fit->base || first >= fit->end()) fit = range_at(first);
    }
    const uintptr_t base = round_up(first - phase, alignment) + phase;
    const uintptr_t end = base + slices * slice_bytes;
    const uintptr_t clean_end = fit->end();
    if (!arenas_.commit(base, end - base, clean_end)) return {};
    take_from(*fit, base, slices);
    if (zeroed == Zeroed::yes && arenas_.provider() == nullptr) {
      arenas_.begin_use(base, end, clean_end, filling, counters_.given_bytes,
                        counters_.reserved_bytes, metadata_);
      if (arenas_.is_huge(end - 1)) {
        fresh_pages_.note_taken(base, end, taker.now_ns != 0 ? taker : Taker::caller());
      }
    }
    given_count_++;
    return Range{base, slices, zeroed};
  }
  // Takes `slices` at a multiple of `alignment` bytes.
  TALUS_USUAL Range take(Held<SpaceLock>& held, size_t slices, size_t alignment = slice_bytes,
                         Filling filling = Filling::unknown) noexcept {
    return take(held, slices, Placing{alignment, filling});
  }

  // Takes up to `slices` (at least `slices_min`) that start at `base`, if they are free: a block
  // grows in place. Returns what it took; `zeroed` as in take(). May enter the kernel before it
  // takes untouched memory, as take() does.
  Range take_at(Held<SpaceLock>& held, uintptr_t base, size_t slices_min, size_t slices) noexcept {
    FreeRange* at = free_at(base, slices_min);
    if (at != nullptr && at->state == RangeState::clean) {
      const size_t more = at->slices < slices ? at->slices : slices;
      make_way(held, more);
      at = free_at(base, slices_min);  // other threads may have taken it meanwhile
    }
    if (at == nullptr) return {};
    if (at->slices < slices) slices = at->slices;
    const auto may_have = [this, base, at](size_t count) noexcept {
      return is_within_limit(count) && arenas_.commit(base, count * slice_bytes, at->end());
    };
    if (!may_have(slices)) {
      slices = slices_min;
      if (!may_have(slices)) return {};
    }
    const Zeroed zeroed = at->state == RangeState::clean ? Zeroed::yes : Zeroed::no;
    const uintptr_t free_end = at->end();
    take_from(*at, base, slices);
    if (zeroed == Zeroed::yes && arenas_.provider() == nullptr) {
      arenas_.begin_use(base, base + slices * slice_bytes, free_end, Filling::unknown,
                        counters_.given_bytes, counters_.reserved_bytes, metadata_);
    }
    return Range{base, slices, zeroed};
  }

  // Contents moved from one range with a user to another; see Arenas::note_moved().
  void note_moved(Held<SpaceLock>&, const Range& from, const Range& to, bool is_filled) noexcept {
    arenas_.note_moved(from.base, from.base + from.slices * slice_bytes, to.base,
                       to.base + to.slices * slice_bytes, is_filled, counters_.given_bytes,
                       counters_.reserved_bytes, metadata_);
  }
  // Does the program fill the range with small pages? The first bytes of the range, as many as a
  // huge page has, decide. Asks the kernel only where the answer matters.
  bool is_filled(Held<SpaceLock>&, const Range& range) noexcept {
    if (!Arenas::is_adaptive(counters_.given_bytes)) return false;
    const uintptr_t end = range.base + range.slices * slice_bytes;
    if (arenas_.has_huge_within(range.base, end)) return false;
    return FillProbe::is_filled(range.base);
  }

  // Takes a range back whose page-map entries are still its user's. `touched`: any of its pages may
  // hold memory. May enter the kernel to keep the retention bounds.
  TALUS_USUAL void give(Held<SpaceLock>& held, uintptr_t base, size_t slices,
                        bool touched) noexcept {
    page_map.set_ends(base, slices, PageEntry{}, nullptr);
    counters_.given_bytes -= slices * slice_bytes;
    if (given_count_ > 0) given_count_--;
    const size_t surplus =
        touched ? retention_.turn_if_late(counters_.given_bytes, dirty_bytes()) : 0;
    arenas_.end_use(base, base + slices * slice_bytes, touched);
    insert(base, slices, touched ? RangeState::dirty : RangeState::clean);
    if (!touched) return;
    if (surplus != 0) purge(held, surplus, PurgeMode::background);
    keep_bound(held, counters_.given_bytes);
    keep_soft_limit_nearly(held);
  }

  // May one end of a range be given back? That needs a node, unlike giving back the whole range.
  bool can_divide(Held<SpaceLock>&) noexcept { return supply_nodes(); }
  // Gives one end of a range back, right after can_divide(); otherwise as give(). The user keeps
  // the rest.
  void give_part(Held<SpaceLock>& held, uintptr_t base, size_t slices, bool touched) noexcept {
    given_count_++;
    give(held, base, slices, touched);
  }

  // True: the kernel was asked for huge pages here.
  bool is_huge(Held<SpaceLock>&, uintptr_t base) const noexcept { return arenas_.is_huge(base); }

  // Zeroed memory for descriptors; null: none. Falls back on free ranges when the kernel refuses.
  TALUS_USUAL void* take_metadata(Held<SpaceLock>& held, size_t bytes) noexcept {
    if (void* taken = metadata_.take(bytes, counters_.reserved_bytes)) return taken;
    const Range range = take(held, divide_up(bytes + Metadata::chunk_head_bytes, slice_bytes));
    if (range.base == 0) return nullptr;
    void* chunk = reinterpret_cast<void*>(range.base);
    if (range.zeroed == Zeroed::no) clear_bytes(chunk, range.slices * slice_bytes);
    metadata_.add_chunk(chunk, range.slices * slice_bytes);
    return metadata_.take(bytes, counters_.reserved_bytes);
  }

  // The same for optional metadata; null also where it would reduce the memory left for the
  // program.
  void* take_spare_metadata(Held<SpaceLock>&, size_t bytes) noexcept {
    return metadata_.may_ask() ? metadata_.take(bytes, counters_.reserved_bytes) : nullptr;
  }

  // From here on memory comes from a provider; untouched addresses from the kernel are forgotten.
  // `all_bytes`: all that the provider has, taken at once; 0: as needed. False: it could not be
  // had.
  bool use_provider(Held<SpaceLock>& held, const PageProvider& from, size_t all_bytes) noexcept {
    if (!supply_nodes()) return false;
    while (FreeRange* clean = find_clean(1)) {
      counters_.reserved_bytes -= clean->slices * slice_bytes;
      carve(*clean, clean->base, clean->slices);
    }
    arenas_.set_provider(from);
    if (all_bytes != 0 && !grow(all_bytes / slice_bytes, Filling::unknown)) {
      arenas_.forget_provider();
      return false;
    }
    if (!from.holds_descriptors) return true;
    const Range range = take(held, meta_chunk_bytes / slice_bytes);
    if (range.base == 0) return true;
    metadata_.add_chunk(reinterpret_cast<void*>(range.base), range.slices * slice_bytes);
    metadata_.stop_asking();
    return true;
  }
  // May pages of live blocks and partly used slabs at this address be purged or moved? Only the
  // kernel's own pages come back when they are touched. Needs no lock.
  bool may_drop_pages(uintptr_t address) const noexcept {
    return TALUS_LIKELY(arenas_.provider() == nullptr) || arenas_.provider_of(address) == nullptr;
  }

  size_t metadata_bytes() const noexcept { return metadata_.used_bytes(); }
  const MetadataChunk* newest_metadata(Held<SpaceLock>&) const noexcept {
    return metadata_.newest_chunk();
  }
  const ListedArena* newest_arena(Held<SpaceLock>&) const noexcept { return arenas_.newest(); }

  bool is_sound() const noexcept {
    return indexes_are_sound() &&
           counters_.given_bytes + dirty_bytes() + clean_bytes() + purging_bytes() ==
               counters_.reserved_bytes;
  }

 private:
  FreeRange* find(size_t slices) const noexcept {
    FreeRange* fit = find_dirty(slices);
    return fit != nullptr ? fit : find_clean(slices);
  }

  // The free range that begins at `base` with at least `slices_min`; else null. A range that is
  // being purged is in no index until its pages are gone.
  FreeRange* free_at(uintptr_t base, size_t slices_min) const noexcept {
    FreeRange* at = range_at(base);
    if (at == nullptr || at->base != base || at->slices < slices_min) return nullptr;
    return at->state == RangeState::purging ? nullptr : at;
  }

  TALUS_USUAL void take_from(FreeRange& from, uintptr_t base, size_t slices) noexcept {
    carve(from, base, slices);
    counters_.given_bytes += slices * slice_bytes;
    retention_.note(counters_.given_bytes, dirty_bytes());
    if (counters_.given_bytes > counters_.given_peak_bytes) {
      counters_.given_peak_bytes = counters_.given_bytes;
    }
  }

  // Takes the dirty range and the missing slices from the untouched one.
  Range take_pair(const RangePair& pair, size_t slices, Filling filling) noexcept {
    const uintptr_t end = pair.base + slices * slice_bytes;
    const uintptr_t clean_base = pair.base < pair.dirty->base ? pair.base : pair.dirty->end();
    const uintptr_t clean_end = pair.base < pair.dirty->base ? pair.dirty->base : end;
    const uintptr_t clean_last = pair.clean->end();
    take_from(*pair.dirty, pair.dirty->base, pair.dirty->slices);
    take_from(*pair.clean, clean_base, (clean_end - clean_base) / slice_bytes);
    arenas_.begin_use(clean_base, clean_end, clean_last, filling, counters_.given_bytes,
                      counters_.reserved_bytes, metadata_);
    given_count_++;
    return Range{pair.base, slices, Zeroed::no};
  }

  TALUS_USUAL bool is_within_limit(size_t slices) const noexcept {
    const size_t hard = limits.hard_bytes.load_hint();  // may change at any time
    return hard == 0 || counters_.given_bytes + slices * slice_bytes <= hard;
  }

  // An arena of at least `slices` with page-map leaves and a place in the list; base 0: the kernel
  // refused. Where addresses are scarce, a large arena may leave no room for these.
  TALUS_USUAL Arena reserve_covered(size_t slices, Filling filling) noexcept {
    const size_t bytes = slices * slice_bytes;
    Arena arena;
    for (size_t most = SIZE_MAX;; most = arena.bytes / 2) {
      arena = arenas_.reserve(bytes, filling, counters_.reserved_bytes, metadata_, most);
      if (arena.base == 0) return {};
      if (page_map.cover(arena.base, arena.bytes) &&
          arenas_.list(arena, metadata_, counters_.reserved_bytes)) {
        return arena;
      }
      // A provider's addresses are lost; that costs no memory.
      if (arena.provider != nullptr) return {};
      os::System::unmap(reinterpret_cast<void*>(arena.base), arena.bytes);
      if (arena.bytes <= bytes) return {};
    }
  }
  // False: there is no memory.
  TALUS_USUAL bool grow(size_t slices, Filling filling) noexcept {
    const Arena arena = reserve_covered(slices, filling);
    if (arena.base == 0) return false;
    counters_.arena_count++;
    counters_.reserved_bytes += arena.bytes;
    if (counters_.reserved_bytes > counters_.reserved_peak_bytes) {
      counters_.reserved_peak_bytes = counters_.reserved_bytes;
    }
    insert(arena.base, arena.bytes / slice_bytes, RangeState::clean);
    return true;
  }

  SpaceLock lock_;
  FreshPages fresh_pages_;
};

inline Space space;

// Purges pages of a live block, which read as zero afterwards. False: nothing changed.
inline bool drop_pages(void* at, size_t bytes) noexcept {
  return space.may_drop_pages(reinterpret_cast<uintptr_t>(at)) && os::System::purge(at, bytes);
}

}  // namespace talus::core

#endif  // TALUS_SPACE_SPACE_HPP
