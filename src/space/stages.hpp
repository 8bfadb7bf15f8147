// SPDX-License-Identifier: MIT
// space/stages: the stages through which a range of addresses goes, and what takes several of them.
//
//   arenas     addresses from the kernel, or from a provider    space/arenas.hpp
//   ranges     which addresses are free, by state and by age     space/free_ranges.hpp
//   start      where a process begins to take them               space/random_start.hpp
//   nodes      a node for each range that may become free        space/node_supply.hpp
//   huge       where huge pages are worth it                     space/huge_pages.hpp
//   ledger     what is counted, and the limits on it             space/ledger.hpp
//   retention  how much free memory may stay                     retention/retention.hpp
//   metadata   memory for descriptors                            space/metadata.hpp
//
// No stage holds another: what one needs of another is an argument of the call.
// Called on: under the space lock. Must not know: the users of ranges, and when pages are purged.
#ifndef TALUS_SPACE_STAGES_HPP
#define TALUS_SPACE_STAGES_HPP

#include "base/base.hpp"
#include "arch/probes.hpp"
#include "os/os.hpp"
#include "retention/retention.hpp"
#include "space/arenas.hpp"
#include "space/free_ranges.hpp"
#include "space/fresh_pages.hpp"
#include "space/huge_pages.hpp"
#include "space/ledger.hpp"
#include "space/metadata.hpp"
#include "space/node_supply.hpp"
#include "space/page_map.hpp"
#include "space/placing.hpp"
#include "space/random_start.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus::core {

// Where in a free range a request is served.
struct RangePlace {
  FreeRange* from;
  uintptr_t base;
  uintptr_t end;
  uintptr_t free_end;  // of the range
  Zeroed zeroed;
  Taker taker;
};

struct Stages {
  Arenas arenas;
  FreeRanges ranges;
  RandomStart start;
  NodeSupply nodes;
  HugePagePolicy huge;
  Ledger ledger;
  Retention retention;
  Metadata metadata;

  size_t dirty_bytes() const noexcept { return ranges.dirty_bytes(); }
  size_t clean_bytes() const noexcept { return ranges.clean_bytes() + ledger.aside_bytes(); }
  size_t given_bytes() const noexcept { return ledger.given_bytes(); }

  // See NodeSupply::supply().
  TALUS_USUAL bool supply_nodes() noexcept {
    return nodes.supply(ranges, metadata, arenas, ledger);
  }
  // May this many slices be taken now? Their nodes are set aside then.
  TALUS_USUAL bool may_take(size_t slices) noexcept {
    return supply_nodes() && ledger.is_within_limit(slices * slice_bytes);
  }
  // Cuts slices for a user out of a free range.
  TALUS_USUAL void take_from(FreeRange& from, uintptr_t base, size_t slices) noexcept {
    ranges.carve(from, base, slices);
    ledger.note_given(slices);
    retention.note(given_bytes(), dirty_bytes());
  }
  // These untouched addresses have a user; see HugePagePolicy::begin_use().
  void begin_use(uintptr_t base, uintptr_t end, uintptr_t clean_end, Filling filling) noexcept {
    huge.begin_use(base, end, clean_end, filling, given_bytes(), metadata);
  }

  // Adds an arena of at least `slices`. False: there is no memory.
  TALUS_USUAL bool grow(size_t slices, Filling filling) noexcept {
    const Arena arena = reserve_covered(slices, filling);
    if (arena.base == 0) return false;
    ledger.note_arena(arena.bytes);
    arch::probe_grow(arena.base, arena.bytes);
    metadata.note_reserved(ledger.reserved_bytes());
    ranges.insert(arena.base, arena.bytes / slice_bytes, RangeState::clean);
    return true;
  }
  // Untouched addresses are not used from here on.
  void forget_clean() noexcept {
    while (FreeRange* clean = ranges.find_clean(1)) {
      ledger.forget_reserved(clean->bytes());
      ranges.carve(*clean, clean->base, clean->slices);
    }
    metadata.note_reserved(ledger.reserved_bytes());
    start = RandomStart{};  // what a provider has begins where it begins
  }

  // How a request is served.

  // A touched range that serves the request; null: none was found.
  TALUS_USUAL FreeRange* find_touched(RangeRequest& request) const noexcept {
    FreeRange* fit = ranges.find_dirty(request.wanted);
    if (fit == nullptr && request.is_aligned()) {
      fit = ranges.find_aligned(request.slices, request.alignment, request.phase);
    }
    // Optional alignment never takes untouched pages.
    if (fit == nullptr && request.is_optional) {
      fit = ranges.find_dirty(request.slices);
      if (fit != nullptr) request.drop_alignment();
    }
    return fit;
  }
  FreeRange* find(size_t slices) const noexcept {
    FreeRange* fit = ranges.find_dirty(slices);
    return fit != nullptr ? fit : ranges.find_clean(slices);
  }
  // Where RandomStart takes untouched memory instead of at `first`, and the range there.
  TALUS_COLD FreeRange* start_in(FreeRange& fit, size_t bytes, uintptr_t& first) noexcept {
    first = start.choose(first, fit.end(), bytes, FreeRanges::clean_bytes_at);
    return FreeRanges::range_with(fit, first);
  }
  TALUS_USUAL RangePlace choose_place(FreeRange& fit, const RangeRequest& request) noexcept {
    FreeRange* from = &fit;
    const Zeroed zeroed = fit.state == RangeState::clean ? Zeroed::yes : Zeroed::no;
    const size_t bytes = request.wanted * slice_bytes;
    // Slabs stand together at the upper end; a block of unknown filling may grow, upwards.
    const bool is_from_end =
        is_for_slab(request.filling) && zeroed == Zeroed::no && fit.slices >= request.wanted;
    uintptr_t first = is_from_end ? fit.end() - bytes : fit.base;
    Taker taker;
    if (zeroed == Zeroed::yes) {
      if (TALUS_UNLIKELY(!start.is_over())) from = start_in(fit, bytes, first);
      const uintptr_t begin = first;
      first =
          huge.choose(begin, from->end(), bytes, given_bytes(), taker, FreeRanges::clean_bytes_at);
      if (first != begin) from = FreeRanges::range_with(*from, first);
    }
    const uintptr_t base = request.begin_from(first);
    return {from, base, base + request.slices * slice_bytes, from->end(), zeroed, taker};
  }
  // Untouched addresses have a user.
  TALUS_USUAL void begin_use(const RangePlace& place, Filling filling) noexcept {
    if (arenas.provider() != nullptr) return;
    begin_use(place.base, place.end, place.free_end, filling);
    huge.note_taken(place.base, place.end, place.taker);
  }
  // Takes the dirty range and the missing slices from the untouched one.
  Range take_pair(const RangePair& pair, const RangeRequest& request) noexcept {
    const uintptr_t end = pair.base + request.slices * slice_bytes;
    const uintptr_t clean_base = pair.base < pair.dirty->base ? pair.base : pair.dirty->end();
    const uintptr_t clean_end = pair.base < pair.dirty->base ? pair.dirty->base : end;
    const uintptr_t clean_last = pair.clean->end();
    take_from(*pair.dirty, pair.dirty->base, pair.dirty->slices);
    take_from(*pair.clean, clean_base, (clean_end - clean_base) / slice_bytes);
    begin_use(clean_base, clean_end, clean_last, request.filling);
    nodes.note_user();
    return Range{pair.base, request.slices, Zeroed::no};
  }

 private:
  // An arena of at least `slices` with page-map leaves and a place in the list; base 0: the kernel
  // refused. Where addresses are scarce, a large arena may leave no room for these.
  TALUS_USUAL Arena reserve_covered(size_t slices, Filling filling) noexcept {
    const size_t bytes = slices * slice_bytes;
    const PageRequest pages = HugePagePolicy::request_for_arena(filling, ledger.reserved_bytes());
    Arena arena;
    for (size_t most = SIZE_MAX;; most = arena.bytes / 2) {
      arena = arenas.reserve(bytes, pages, ledger.reserved_bytes(), most);
      if (arena.base == 0) return {};
      if (arena.request == PageRequest::huge) {
        huge.ask_for_arena(arena.base, arena.bytes, metadata);
      }
      if (page_map.cover(arena.base, arena.bytes) && arenas.list(arena, metadata)) return arena;
      // A provider's addresses are lost; that costs no memory.
      if (arena.provider != nullptr) return {};
      os::System::unmap(reinterpret_cast<void*>(arena.base), arena.bytes);
      if (arena.bytes <= bytes) return {};
    }
  }
};

}  // namespace talus::core

#endif  // TALUS_SPACE_STAGES_HPP
