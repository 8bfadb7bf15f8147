// SPDX-License-Identifier: MIT
// space/free_ranges: which ranges of slices are free, joined with their neighbours.
//
// Owns: the nodes, two indexes (dirty: the ranges keep their pages; clean: they read as zero), and
// the order in which dirty ranges became free. Invariants: free ranges of one state are never
// neighbours. Both ends of a free range name its node in the page map. A joined range is as old as
// its larger part, so that a small range that comes and goes does not keep a large one young.
// Called on: under the space lock. Must not know: the kernel, limits, why a range is free.
#ifndef TALUS_SPACE_FREE_RANGES_HPP
#define TALUS_SPACE_FREE_RANGES_HPP

#include "base/base.hpp"
#include "space/page_map.hpp"
#include "space/range_index.hpp"

namespace talus::core {

// A dirty range and an untouched neighbour that together make room, from `base` on.
struct RangePair {
  FreeRange* dirty = nullptr;  // null: there is none
  FreeRange* clean = nullptr;
  uintptr_t base = 0;
};

class FreeRanges {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  size_t dirty_bytes() const noexcept { return dirty_.bytes(); }
  size_t clean_bytes() const noexcept { return clean_.bytes(); }
  size_t free_range_count() const noexcept { return dirty_.count() + clean_.count(); }

  // The range at the highest address that is large enough; null: none.
  FreeRange* find_dirty(size_t slices) const noexcept { return dirty_.highest_fit(slices); }
  FreeRange* find_clean(size_t slices) const noexcept { return clean_.highest_fit(slices); }
  FreeRange* oldest() const noexcept { return oldest_; }
  // A recently freed dirty range in which `slices` fit at `phase` bytes behind a multiple of
  // `alignment`; null: none was found.
  FreeRange* find_aligned(size_t slices, size_t alignment, size_t phase) const noexcept {
    FreeRange* dirty = newest_;
    for (size_t looks = 0; dirty != nullptr && looks < pair_looks; looks++, dirty = dirty->older) {
      const uintptr_t base = round_up(dirty->base - phase, alignment) + phase;
      if (base + slices * slice_bytes <= dirty->end()) return dirty;
    }
    return nullptr;
  }
  // Room for `slices` of which at least half are dirty, among the recently freed ranges.
  RangePair find_pair(size_t slices) const noexcept {
    FreeRange* dirty = newest_;
    for (size_t looks = 0; dirty != nullptr && looks < pair_looks; looks++, dirty = dirty->older) {
      if (dirty->slices < slices / 2 || dirty->slices >= slices) continue;
      const size_t missing = slices - dirty->slices;
      const auto fits = [missing](const FreeRange* clean) noexcept {
        return clean != nullptr && clean->slices >= missing;
      };
      FreeRange* after = clean_range_at(dirty->end());
      if (fits(after)) return {dirty, after, dirty->base};
      FreeRange* before = clean_range_at(dirty->base - 1);
      if (fits(before)) return {dirty, before, dirty->base - missing * slice_bytes};
    }
    return {};
  }
  // The first untouched range that begins above this address.
  FreeRange* next_clean(uintptr_t address) const noexcept { return clean_.next_above(address); }

  // The free range that has this address as its first or last slice, or null.
  TALUS_USUAL static FreeRange* range_at(uintptr_t address) noexcept {
    if (!PageMap::covers(address) || !page_map.word_of(address).has_no_owner()) return nullptr;
    return static_cast<FreeRange*>(page_map.descriptor_of(address));
  }

  // The range in which an address lies: this one, or one that begins there.
  TALUS_COLD static FreeRange* range_with(FreeRange& range, uintptr_t address) noexcept {
    return address - range.base < range.bytes() ? &range : range_at(address);
  }

  // The free range that begins at `base` with at least `slices_min`; else null. A range that is
  // being purged is in no index until its pages are gone.
  static FreeRange* free_at(uintptr_t base, size_t slices_min) noexcept {
    FreeRange* at = range_at(base);
    if (at == nullptr || at->base != base || at->slices < slices_min) return nullptr;
    return at->state == RangeState::purging ? nullptr : at;
  }
  // As range_at(), for untouched ranges.
  static FreeRange* clean_range_at(uintptr_t address) noexcept {
    FreeRange* range = range_at(address);
    return range != nullptr && range->state == RangeState::clean ? range : nullptr;
  }
  // Bytes of the untouched range that begins at this address; 0: there is none.
  static size_t clean_bytes_at(uintptr_t address) noexcept {
    const FreeRange* range = clean_range_at(address);
    return range != nullptr && range->base == address ? range->slices * slice_bytes : 0;
  }

  // Cuts `slices` at `base` out of a free range; the rest stays free and keeps its age.
  TALUS_USUAL void carve(FreeRange& from, uintptr_t base, size_t slices) noexcept {
    const uintptr_t start = from.base, end = from.end();
    TALUS_ASSERT(base >= start && slices != 0 && base + slices * slice_bytes <= end);
    TALUS_ASSERT(from.state == RangeState::clean || from.state == RangeState::dirty);
    const uintptr_t taken_end = base + slices * slice_bytes;
    const size_t slices_before = (base - start) / slice_bytes;
    const size_t slices_behind = (end - taken_end) / slice_bytes;
    page_map.set_ends(base, slices, PageEntry{}, nullptr);
    if (slices_before > 0) {
      reshape(from, start, slices_before);
      if (slices_behind > 0) {
        FreeRange& rest = new_node();
        rest.base = taken_end;
        rest.slices = slices_behind;
        rest.state = from.state;
        if (from.state == RangeState::dirty) age_between(rest, &from, from.newer);
        show(rest);
      }
    } else if (slices_behind > 0) {
      reshape(from, taken_end, slices_behind);
    } else {
      hide(from);
      forget(from);
    }
    audit_books();
  }

  // Adds a free range and joins it with neighbours of the same state. Returns the joined range.
  TALUS_USUAL FreeRange& insert(uintptr_t base, size_t slices, RangeState state) noexcept {
    const uintptr_t end = base + slices * slice_bytes;
    TALUS_ASSERT(base % slice_bytes == 0 && slices != 0 && state != RangeState::purging);
    TALUS_ASSERT(range_at(base) == nullptr && range_at(end - 1) == nullptr);
    FreeRange* before = range_at(base - 1);
    if (before != nullptr && (before->state != state || before->end() != base)) before = nullptr;
    FreeRange* after = range_at(end);
    if (after != nullptr && (after->state != state || after->base != end)) after = nullptr;
    const size_t joined =
        slices + (before != nullptr ? before->slices : 0) + (after != nullptr ? after->slices : 0);
    // The largest of the three keeps its place in the order of age.
    FreeRange* keeper = before;
    if (after != nullptr && (keeper == nullptr || after->slices > keeper->slices)) {
      keeper = after;
    }
    if (keeper == nullptr) {
      FreeRange& node = new_node();
      node.base = base;
      node.slices = slices;
      node.state = state;
      if (state == RangeState::dirty) age_between(node, newest_, nullptr);
      show(node);
      audit_books();
      return node;
    }
    const bool is_new = keeper->slices < slices;
    if (before != nullptr) base = before->base;
    absorb(*keeper, base, joined, keeper == before ? after : before);
    if (state == RangeState::dirty && is_new) make_newest(*keeper);
    audit_books();
    return *keeper;
  }

  // Takes a part of a free range out of the index, to work on it without the lock. Where the part
  // makes a place of `place_bytes` at its ends completely free, takes the untouched rest of that
  // place along.
  FreeRange& take_out(FreeRange& from, uintptr_t base, size_t slices, size_t place_bytes) noexcept {
    carve(from, base, slices);
    const uintptr_t end = base + slices * slice_bytes;
    FreeRange* before = clean_range_at(base - 1);
    FreeRange* after = clean_range_at(end);
    const uintptr_t least = before != nullptr ? before->base : base;
    const uintptr_t most = after != nullptr ? after->end() : end;
    const uintptr_t first = round_down(base, place_bytes);
    const uintptr_t last = round_up(end, place_bytes);
    const bool reaches_down = first != base && first >= least && first + place_bytes <= most;
    const bool reaches_up = last != end && last <= most && last - place_bytes >= least;
    if (reaches_down) carve(*before, first, (base - first) / slice_bytes);
    if (reaches_up) carve(*after, end, (last - end) / slice_bytes);
    FreeRange& node = new_node();
    node.base = reaches_down ? first : base;
    node.slices = ((reaches_up ? last : end) - node.base) / slice_bytes;
    node.state = RangeState::purging;
    page_map.set_ends(node.base, node.slices, PageEntry{}, &node);
    return node;
  }
  // Makes it free again. `slices` from `base` on are dirty and the oldest of all, the rest is
  // clean.
  void put_back(FreeRange& node, uintptr_t base, size_t slices) noexcept {
    const uintptr_t first = node.base, last = node.end();
    TALUS_ASSERT(node.state == RangeState::purging);
    TALUS_ASSERT(slices == 0 || (base >= first && base + slices * slice_bytes <= last));
    page_map.set_ends(first, node.slices, PageEntry{}, nullptr);
    recycle(node);
    if (slices == 0) {
      insert(first, (last - first) / slice_bytes, RangeState::clean);
      return;
    }
    const uintptr_t end = base + slices * slice_bytes;
    if (base > first) insert(first, (base - first) / slice_bytes, RangeState::clean);
    make_oldest(insert(base, slices, RangeState::dirty));
    if (end < last) insert(end, (last - end) / slice_bytes, RangeState::clean);
  }

  void make_oldest(FreeRange& node) noexcept {
    age_remove(node);
    age_between(node, nullptr, oldest_);
  }
  // A dirty range counts as freed just now.
  void make_newest(FreeRange& node) noexcept {
    age_remove(node);
    age_between(node, newest_, nullptr);
  }

  // Unused nodes. A range is added only when there is one, because adding must not need memory.
  size_t nodes_left() const noexcept { return nodes_left_; }
  // Adds nodes that were never used; their memory stays untouched until they are.
  void add_nodes(FreeRange* fresh, size_t count) noexcept {
    nodes_left_ += count;
    // The first node to be used records where the previous supply stopped.
    if (spare_nodes_left_ > 0) {
      FreeRange& holder = fresh[--count];
      holder.left = spare_nodes_;
      holder.slices = spare_nodes_left_;
      holder.right = holder_;
      holder_ = &holder;
    }
    spare_nodes_ = fresh;
    spare_nodes_left_ = count;
  }

  bool indexes_are_sound() const noexcept { return dirty_.is_sound() && clean_.is_sound(); }
  // Beside the indexes: each range is named at both of its ends, dirty ranges are in the order of
  // age, and unused nodes are counted.
  bool books_are_sound() const noexcept {
    return are_named(clean_, RangeState::clean) && are_named(dirty_, RangeState::dirty) &&
           are_aged() && are_nodes_counted();
  }

 private:
  // In audit builds, where a range was taken or added.
  void audit_books() const noexcept {
    if (is_audit_due(free_range_count())) TALUS_ASSERT(indexes_are_sound() && books_are_sound());
  }
  static bool are_named(const RangeIndex& index, RangeState state) noexcept {
    for (const FreeRange* at = index.next_above(0); at != nullptr;
         at = index.next_above(at->base)) {
      if (at->state != state || at->base % slice_bytes != 0) return false;
      if (range_at(at->base) != at || range_at(at->end() - 1) != at) return false;
    }
    return true;
  }
  bool are_aged() const noexcept {
    size_t count = 0;
    const FreeRange* older = nullptr;
    for (const FreeRange* at = oldest_; at != nullptr; at = at->newer) {
      if (at->state != RangeState::dirty || at->older != older) return false;
      older = at;
      count++;
    }
    return older == newest_ && count == dirty_.count();
  }
  bool are_nodes_counted() const noexcept {
    size_t count = spare_nodes_left_;
    for (const FreeRange* at = unused_nodes_; at != nullptr; at = at->right) count++;
    for (const FreeRange* at = holder_; at != nullptr; at = at->right) count += 1 + at->slices;
    return count == nodes_left_;
  }
  RangeIndex& index_of(RangeState state) noexcept {
    return state == RangeState::dirty ? dirty_ : clean_;
  }
  TALUS_USUAL void show(FreeRange& node) noexcept {
    page_map.set_ends(node.base, node.slices, PageEntry{}, &node);
    index_of(node.state).insert(node);
  }
  // The node keeps its place in the order of age.
  TALUS_USUAL void hide(FreeRange& node) noexcept {
    index_of(node.state).remove(node);
    page_map.set_ends(node.base, node.slices, PageEntry{}, nullptr);
  }
  // A range in the index loses or gains slices at its ends.
  void reshape(FreeRange& node, uintptr_t base, size_t slices) noexcept {
    node.refused_in = 0;
    index_of(node.state).resize(node, base, slices);
    page_map.set_ends(base, slices, PageEntry{}, &node);
  }
  // A range takes in what lies beside it, and its neighbour there, if that is free, too.
  void absorb(FreeRange& keeper, uintptr_t base, size_t joined, FreeRange* neighbour) noexcept {
    page_map.set_ends(keeper.base, keeper.slices, PageEntry{}, nullptr);
    if (neighbour != nullptr) {
      hide(*neighbour);
      forget(*neighbour);
    }
    reshape(keeper, base, joined);
  }
  void forget(FreeRange& node) noexcept {
    if (node.state == RangeState::dirty) age_remove(node);
    recycle(node);
  }

  void age_between(FreeRange& node, FreeRange* older, FreeRange* newer) noexcept {
    node.older = older;
    node.newer = newer;
    (older != nullptr ? older->newer : oldest_) = &node;
    (newer != nullptr ? newer->older : newest_) = &node;
  }
  void age_remove(FreeRange& node) noexcept {
    (node.older != nullptr ? node.older->newer : oldest_) = node.newer;
    (node.newer != nullptr ? node.newer->older : newest_) = node.older;
    node.older = node.newer = nullptr;
  }

  TALUS_USUAL FreeRange& new_node() noexcept {
    TALUS_ASSERT(nodes_left_ != 0);  // they were set aside
    nodes_left_--;
    FreeRange* node = unused_nodes_;
    if (node != nullptr) {
      unused_nodes_ = node->right;
      node->right = nullptr;
      return *node;
    }
    if (TALUS_LIKELY(spare_nodes_left_ > 0)) return spare_nodes_[--spare_nodes_left_];
    TALUS_CHECK(holder_ != nullptr);
    FreeRange& holder = *holder_;
    holder_ = holder.right;
    spare_nodes_ = holder.left;
    spare_nodes_left_ = holder.slices;
    holder = FreeRange{};
    return holder;
  }
  void recycle(FreeRange& node) noexcept {
    nodes_left_++;
    node = FreeRange{};
    node.right = unused_nodes_;
    unused_nodes_ = &node;
  }

  RangeIndex dirty_, clean_;
  FreeRange* oldest_ = nullptr;  // dirty ranges in the order in which they became free
  FreeRange* newest_ = nullptr;
  FreeRange* unused_nodes_ = nullptr;
  FreeRange* spare_nodes_ = nullptr;  // never used
  FreeRange* holder_ = nullptr;       // records the previous supply; `right`: the one before that
  size_t spare_nodes_left_ = 0;
  size_t nodes_left_ = 0;  // unused ones of all kinds
};

}  // namespace talus::core

#endif  // TALUS_SPACE_FREE_RANGES_HPP
