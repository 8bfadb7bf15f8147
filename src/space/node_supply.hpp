// SPDX-License-Identifier: MIT
// space/node_supply: ensures that there is a node for each free range that may arise.
//
// Owns: the number of ranges with users. Giving a range back must never need memory, so nodes are
// set aside before ranges are given out. Invariant: there is an unused node for each range with
// users, which takes at most one when it is given back. There are `reserve` more, for what one
// caller does between two checks. Free ranges also arise in other ways: a range is cut out of the
// middle of another, an end is given back, or a part is purged. Before these, the caller calls
// supply(), and does not unlock in between.
// Called on: under the space lock. Must not know: which range is taken, or why pages are purged.
#ifndef TALUS_SPACE_NODE_SUPPLY_HPP
#define TALUS_SPACE_NODE_SUPPLY_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "space/arenas.hpp"
#include "space/free_ranges.hpp"
#include "space/ledger.hpp"
#include "space/metadata.hpp"
#include "space/range_index.hpp"

namespace talus::core {

class NodeSupply {
 public:
  // A range got a user, or a part of one will be given back by itself.
  void note_user() noexcept { user_count_++; }
  // A range is given back.
  void note_return() noexcept {
    if (user_count_ > 0) user_count_--;
  }

  // Sets aside what the invariant requires. False: there is no memory. May take a slice out of a
  // free range. New nodes stay untouched.
  TALUS_USUAL bool supply(FreeRanges& ranges, Metadata& metadata, const Arenas& arenas,
                          Ledger& ledger) noexcept {
    const size_t needed = user_count_ + reserve;
    if (TALUS_LIKELY(ranges.nodes_left() >= needed)) return true;
    for (size_t nodes = nodes_per_supply; nodes >= 4; nodes /= 4) {
      auto* fresh = static_cast<FreeRange*>(metadata.take(nodes * sizeof(FreeRange)));
      if (fresh == nullptr) fresh = nodes_from_range(nodes, ranges, arenas, ledger);
      if (fresh == nullptr) continue;
      ranges.add_nodes(fresh, nodes);
      if (ranges.nodes_left() >= needed) return true;
    }
    return false;
  }

 private:
  // Without the kernel: one slice of a free range becomes nodes. Needs no node itself.
  static FreeRange* nodes_from_range(size_t& nodes, FreeRanges& ranges, const Arenas& arenas,
                                     Ledger& ledger) noexcept {
    FreeRange* range = ranges.find_clean(1);
    if (range == nullptr) range = ranges.find_dirty(1);
    if (range == nullptr) return nullptr;
    if (!arenas.commit(range->base, slice_bytes, range->end())) return nullptr;
    auto* fresh = reinterpret_cast<FreeRange*>(range->base);
    if (range->state == RangeState::dirty) clear_bytes(fresh, slice_bytes);
    nodes = slice_bytes / sizeof(FreeRange);
    ledger.note_own(1);
    ranges.carve(*range, range->base, 1);
    return fresh;
  }

  static constexpr size_t nodes_per_supply = 1024;
  static constexpr size_t reserve = 8;

  size_t user_count_ = 0;  // ranges with users, at least
};

}  // namespace talus::core

#endif  // TALUS_SPACE_NODE_SUPPLY_HPP
