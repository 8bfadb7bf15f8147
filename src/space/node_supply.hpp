// SPDX-License-Identifier: MIT
// space/node_supply: ensures that there is a node for each free range that may arise.
//
// Owns: the arenas, metadata, the counters, and the number of ranges with users. Giving a range
// back must never need memory, so nodes are set aside before ranges are given out. Invariant: there
// is an unused node for each range with users, which takes at most one when it is given back. There
// are `reserve` more, for what one caller does between two checks. Free ranges also arise in other
// ways: a range is cut out of the middle of another, an end is given back, or a part is purged.
// Before these, the caller calls supply_nodes(), and does not unlock in between.
// Called on: under the space lock. Must not know: which range is taken, or why pages are purged.
#ifndef TALUS_SPACE_NODE_SUPPLY_HPP
#define TALUS_SPACE_NODE_SUPPLY_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "space/arenas.hpp"
#include "space/free_ranges.hpp"
#include "space/metadata.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus::core {

class NodeSupply : public FreeRanges {
 public:
  const SpaceCounters& counters() const noexcept { return counters_; }

 protected:
  // Sets aside what the invariant requires. False: there is no memory. May take a slice out of a
  // free range. New nodes stay untouched.
  TALUS_USUAL bool supply_nodes() noexcept {
    const size_t needed = given_count_ + reserve;
    if (TALUS_LIKELY(nodes_left() >= needed)) return true;
    for (size_t nodes = nodes_per_supply; nodes >= 4; nodes /= 4) {
      auto* fresh = static_cast<FreeRange*>(
          metadata_.take(nodes * sizeof(FreeRange), counters_.reserved_bytes));
      if (fresh == nullptr && (fresh = nodes_from_range(nodes)) == nullptr) continue;
      add_nodes(fresh, nodes);
      if (nodes_left() >= needed) return true;
    }
    return false;
  }

  Arenas arenas_;
  Metadata metadata_;
  SpaceCounters counters_;
  size_t given_count_ = 0;  // ranges with users, at least

 private:
  // Without the kernel: one slice of a free range becomes nodes. Needs no node itself.
  FreeRange* nodes_from_range(size_t& nodes) noexcept {
    FreeRange* range = find_clean(1);
    if (range == nullptr) range = find_dirty(1);
    if (range == nullptr) return nullptr;
    if (!arenas_.commit(range->base, slice_bytes, range->end())) return nullptr;
    auto* fresh = reinterpret_cast<FreeRange*>(range->base);
    if (range->state == RangeState::dirty) clear_bytes(fresh, slice_bytes);
    nodes = slice_bytes / sizeof(FreeRange);
    counters_.given_bytes += slice_bytes;
    carve(*range, range->base, 1);
    return fresh;
  }

  static constexpr size_t nodes_per_supply = 1024;
  static constexpr size_t reserve = 8;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_NODE_SUPPLY_HPP
