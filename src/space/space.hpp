// SPDX-License-Identifier: MIT
// space: the face of address space. Gives ranges of granules to heaps and takes them back.
//
// Owns: arenas (reserved from the kernel, never returned), the page map, free ranges in two
// indexes (dirty: keep their pages; clean: read as zero) and metadata. A request takes the best
// fitting dirty range, else the best fitting clean one, else new address space: a page fault costs
// as much as hundreds of fast paths, so touched memory is reused before untouched.
// Invariants: free ranges of one state are never neighbours (they are joined at once); a granule
// belongs to one free range or to one user. Dirty ranges are given back to the kernel when nobody
// wanted them for decay_ms, or when there are more than retain_bytes of them.
// Called on: any thread, under the one lock; the kernel is entered outside it where it is slow.
// Must not know: slabs, heaps, threads.
#ifndef TALUS_SPACE_SPACE_HPP
#define TALUS_SPACE_SPACE_HPP

#include "os/bytes.hpp"
#include "os/os.hpp"
#include "settings/options.hpp"
#include "space/metadata.hpp"
#include "space/page_map.hpp"
#include "space/range_index.hpp"
#include "sync/lock.hpp"

namespace talus {

inline PageMap page_map;
inline Options options;

// A range that was given out. `base` 0 means there was no memory.
struct Range {
  uintptr_t base = 0;
  size_t granules = 0;
  Zeroed zeroed = Zeroed::no;  // all its bytes read as zero
};

// How the user of a range fills such ranges: with blocks that leave few gaps (dense) or more
// (sparse), or as a program pleases (unknown).
enum class Filling : uint8_t { unknown, sparse, dense };

// What statistics read; all in bytes but the two counts. Written under the space lock.
struct SpaceCounters {
  size_t reserved_bytes = 0;     // address space in arenas
  size_t reserved_peak_bytes = 0;
  size_t given_bytes = 0;        // with users
  size_t given_peak_bytes = 0;
  size_t purged_bytes = 0;       // ever given back to the kernel
  size_t purge_count = 0;
  size_t arena_count = 0;
};

class Space {
 public:
  Lock& lock() noexcept { return lock_; }

  // Takes `granules` at a multiple of `alignment` bytes. Base 0: no memory, nothing changed.
  Range take(Locked& held, size_t granules, size_t alignment = granule_bytes,
             Filling filling = Filling::unknown) noexcept {
    const size_t slack = alignment > granule_bytes ? alignment / granule_bytes - 1 : 0;
    const size_t wanted = granules + slack;
    if (!supply_nodes()) return {};
    if (wanted < granules || wanted > (size_t{1} << (address_bits - granule_shift))) return {};
    FreeRange* fit = find(wanted);
    if (fit == nullptr) {
      // Ranges that only differ in their pages may make room together.
      if (!grow(wanted, filling)) purge_dirty(held, 0, ~uint64_t{0});
      // The lock was given up in between: others may have used what was set aside. Before find(),
      // because setting aside may itself take from a free range.
      if (!supply_nodes()) return {};
      fit = find(wanted);
      if (fit == nullptr) return {};
    }
    const uintptr_t base = round_up(fit->base, alignment);
    const Zeroed zeroed = fit->state == RangeState::clean ? Zeroed::yes : Zeroed::no;
    carve(*fit, base, granules);
    count_given(granules);
    given_count_++;
    return Range{base, granules, zeroed};
  }

  // Takes up to `granules` (at least `granules_min`) that start at `base`, if they are free: how a
  // block grows in place. Returns what it took; `zeroed` as in take().
  Range take_at(Locked&, uintptr_t base, size_t granules_min, size_t granules) noexcept {
    FreeRange* at = free_range_at(base);
    if (at == nullptr || at->base != base || at->granules < granules_min) return {};
    if (at->state == RangeState::purging) return {};  // in no index until its pages are gone
    if (at->granules < granules) granules = at->granules;
    const Zeroed zeroed = at->state == RangeState::clean ? Zeroed::yes : Zeroed::no;
    carve(*at, base, granules);
    count_given(granules);
    return Range{base, granules, zeroed};
  }

  // Takes a range back whose page map words are still its user's. `touched` says if any of its
  // pages may hold memory. May enter the kernel to keep the retention bounds.
  void give(Locked& held, uintptr_t base, size_t granules, bool touched) noexcept {
    page_map.set_ends(base, granules, PageWord{}, nullptr);
    counters_.given_bytes -= granules * granule_bytes;
    if (given_count_ > 0) given_count_--;
    insert(base, granules, touched ? RangeState::dirty : RangeState::clean);
    if (touched) keep_bounds(held);
  }

  // Gives dirty ranges back to the kernel until at most `keep_bytes` remain. Returns bytes purged.
  size_t trim(Locked& held, size_t keep_bytes) noexcept {
    return purge_dirty(held, keep_bytes, ~uint64_t{0});
  }

  // Gives only the end of a range back; as give(). The user keeps the rest.
  void give_tail(Locked& held, uintptr_t base, size_t granules, bool touched) noexcept {
    given_count_++;
    give(held, base, granules, touched);
  }

  // Zeroed memory for descriptors; null: none. When the kernel refuses, free ranges serve.
  void* take_metadata(Locked& held, size_t bytes) noexcept {
    if (void* taken = metadata_.take(bytes, counters_.reserved_bytes)) return taken;
    const Range range = take(held, divide_up(bytes, granule_bytes));
    if (range.base == 0) return nullptr;
    void* chunk = reinterpret_cast<void*>(range.base);
    if (range.zeroed == Zeroed::no) clear_bytes(chunk, range.granules * granule_bytes);
    metadata_.add_chunk(chunk, range.granules * granule_bytes);
    return metadata_.take(bytes, counters_.reserved_bytes);
  }

  const SpaceCounters& counters() const noexcept { return counters_; }
  bool is_purging() const noexcept { return purging_bytes_ != 0; }
  size_t dirty_bytes() const noexcept { return dirty_.bytes(); }
  size_t clean_bytes() const noexcept { return clean_.bytes(); }
  size_t free_range_count() const noexcept { return dirty_.count() + clean_.count(); }
  size_t metadata_bytes() const noexcept { return metadata_.used_bytes(); }

  bool is_sound() const noexcept {
    return dirty_.is_sound() && clean_.is_sound() &&
           counters_.given_bytes + dirty_.bytes() + clean_.bytes() + purging_bytes_ ==
               counters_.reserved_bytes;
  }

 private:
  FreeRange* find(size_t granules) const noexcept {
    FreeRange* fit = dirty_.best_fit(granules);
    return fit != nullptr ? fit : clean_.best_fit(granules);
  }

  void count_given(size_t granules) noexcept {
    counters_.given_bytes += granules * granule_bytes;
    if (counters_.given_bytes > counters_.given_peak_bytes) {
      counters_.given_peak_bytes = counters_.given_bytes;
    }
  }

  // The free range that has this address as its first or last granule, or null.
  static FreeRange* free_range_at(uintptr_t address) noexcept {
    if (!PageMap::covers(address) || !page_map.word_of(address).is_nobody()) return nullptr;
    return static_cast<FreeRange*>(page_map.descriptor_of(address));
  }

  RangeIndex& index_of(RangeState state) noexcept {
    return state == RangeState::dirty ? dirty_ : clean_;
  }

  // Cuts [base, base + granules) out of a free range; what is left of it stays free.
  void carve(FreeRange& from, uintptr_t base, size_t granules) noexcept {
    const RangeState state = from.state;
    const uintptr_t start = from.base, end = from.end();
    const uint64_t released_ms = from.released_ms;
    const uintptr_t taken_end = base + granules * granule_bytes;
    unlink(from);
    page_map.set_ends(start, from.granules, PageWord{}, nullptr);
    if (base > start) {
      from.granules = (base - start) / granule_bytes;
      link(from, state, released_ms);
      if (end > taken_end) insert(taken_end, (end - taken_end) / granule_bytes, state);
    } else if (end > taken_end) {
      from.base = taken_end;
      from.granules = (end - taken_end) / granule_bytes;
      link(from, state, released_ms);
    } else {
      recycle(from);
    }
    TALUS_AUDIT_SOUND(dirty_);
  }

  // Adds a free range and joins it with neighbours of the same state.
  void insert(uintptr_t base, size_t granules, RangeState state) noexcept {
    FreeRange* node = nullptr;
    if (FreeRange* before = free_range_at(base - 1);
        before != nullptr && before->state == state && before->end() == base) {
      unlink(*before);
      page_map.set_ends(before->base, before->granules, PageWord{}, nullptr);
      base = before->base;
      granules += before->granules;
      node = before;
    }
    const uintptr_t end = base + granules * granule_bytes;
    if (FreeRange* after = free_range_at(end);
        after != nullptr && after->state == state && after->base == end) {
      unlink(*after);
      page_map.set_ends(after->base, after->granules, PageWord{}, nullptr);
      granules += after->granules;
      if (node == nullptr) {
        node = after;
      } else {
        recycle(*after);
      }
    }
    if (node == nullptr) node = &new_node();
    node->base = base;
    node->granules = granules;
    link(*node, state, state == RangeState::dirty ? os::System::now_ms() : 0);
  }

  void link(FreeRange& node, RangeState state, uint64_t released_ms) noexcept {
    node.state = state;
    node.released_ms = released_ms;
    page_map.set_ends(node.base, node.granules, PageWord{}, &node);
    index_of(state).insert(node);
    if (state != RangeState::dirty) return;
    // In the order of release; a rest of an older range finds its place from the old end.
    FreeRange* newer = nullptr;
    FreeRange* older = newest_dirty_;
    if (older != nullptr && older->released_ms > released_ms) {
      older = nullptr;
      newer = oldest_dirty_;
    }
    node.older = older;
    node.newer = newer;
    (older != nullptr ? older->newer : oldest_dirty_) = &node;
    (newer != nullptr ? newer->older : newest_dirty_) = &node;
  }

  void unlink(FreeRange& node) noexcept {
    index_of(node.state).remove(node);
    if (node.state == RangeState::dirty) {
      (node.older != nullptr ? node.older->newer : oldest_dirty_) = node.newer;
      (node.newer != nullptr ? node.newer->older : newest_dirty_) = node.older;
      node.older = node.newer = nullptr;
    }
    node.state = RangeState::unused;
  }

  // Giving back must never need memory, so nodes are set aside before ranges are given out: free
  // ranges lie between given ones, and between two of those there are at most two (one of each
  // state) or one being purged and its two neighbours. Setting aside touches nothing.
  bool supply_nodes() noexcept {
    const size_t needed = 3 * (given_count_ + 2) + counters_.arena_count * 2;
    if (node_count_ >= needed) return true;
    for (size_t nodes = nodes_per_supply; nodes >= 4; nodes /= 4) {
      auto* fresh = static_cast<FreeRange*>(
          metadata_.take(nodes * sizeof(FreeRange), counters_.reserved_bytes));
      if (fresh == nullptr && (fresh = nodes_from_range(nodes)) == nullptr) continue;
      // What is left of the last supply joins the recycled nodes.
      while (spare_nodes_left_ > 0) recycle(spare_nodes_[--spare_nodes_left_]);
      spare_nodes_ = fresh;
      spare_nodes_left_ = nodes;
      node_count_ += nodes;
      return true;
    }
    return false;
  }
  // Without the kernel's help: one granule of a free range becomes nodes. Needs no node itself.
  FreeRange* nodes_from_range(size_t& nodes) noexcept {
    FreeRange* range = clean_.best_fit(1);
    if (range == nullptr) range = dirty_.best_fit(1);
    if (range == nullptr) return nullptr;
    auto* fresh = reinterpret_cast<FreeRange*>(range->base);
    if (range->state == RangeState::dirty) clear_bytes(fresh, granule_bytes);
    nodes = granule_bytes / sizeof(FreeRange);
    counters_.given_bytes += granule_bytes;
    carve(*range, range->base, 1);
    return fresh;
  }

  FreeRange& new_node() noexcept {
    FreeRange* node = unused_nodes_;
    if (node != nullptr) {
      unused_nodes_ = node->right;
      node->right = nullptr;
      return *node;
    }
    TALUS_CHECK(spare_nodes_left_ > 0);
    return spare_nodes_[--spare_nodes_left_];
  }
  void recycle(FreeRange& node) noexcept {
    node = FreeRange{};
    node.right = unused_nodes_;
    unused_nodes_ = &node;
  }

  void keep_bounds(Locked& held) noexcept {
    const uint64_t now = os::System::now_ms();
    const uint64_t decay_ms = options.decay_ms;
    if (oldest_dirty_ != nullptr && oldest_dirty_->released_ms + decay_ms <= now) {
      purge_dirty(held, 0, now - decay_ms);
    }
    if (dirty_.bytes() > options.retain_bytes) purge_dirty(held, options.retain_bytes, now);
  }

  // Purges dirty ranges, oldest first, that were released at or before `until_ms`, while more than
  // `keep_bytes` remain. The kernel works outside the lock with the range taken out of the index.
  size_t purge_dirty(Locked& held, size_t keep_bytes, uint64_t until_ms) noexcept {
    size_t purged = 0;
    // Ranges that the kernel refuses to purge come back as newest: stop before meeting them again.
    size_t rounds = dirty_.count();
    while (rounds-- > 0 && oldest_dirty_ != nullptr && dirty_.bytes() > keep_bytes &&
           oldest_dirty_->released_ms <= until_ms) {
      FreeRange& node = *oldest_dirty_;
      unlink(node);
      node.state = RangeState::purging;
      purging_bytes_ += node.bytes();
      const uintptr_t base = node.base;
      const size_t granules = node.granules;
      held.give_for_a_while();
      const bool done = os::System::purge(reinterpret_cast<void*>(base), granules * granule_bytes);
      held.take_again();
      purging_bytes_ -= granules * granule_bytes;
      page_map.set_ends(base, granules, PageWord{}, nullptr);
      recycle(node);
      insert(base, granules, done ? RangeState::clean : RangeState::dirty);
      if (!done) continue;
      purged += granules * granule_bytes;
      counters_.purged_bytes += granules * granule_bytes;
      counters_.purge_count++;
    }
    return purged;
  }

  bool wants_huge(Filling filling) const noexcept {
    if (filling == Filling::unknown) return false;
    return counters_.given_bytes >=
           (filling == Filling::dense ? huge_dense_bytes_min : huge_sparse_bytes_min);
  }

  // Reserves an arena that holds at least this much. False: the kernel refused.
  bool grow(size_t granules, Filling filling) noexcept {
    const size_t needed = round_up(granules * granule_bytes, arena_alignment);
    size_t bytes = counters_.reserved_bytes >> arena_growth_shift;
    if (bytes < options.arena_bytes) bytes = options.arena_bytes;
    if (bytes > arena_growth_max) bytes = arena_growth_max;
    bytes = round_up(bytes, arena_alignment);
    if (bytes < needed) bytes = needed;
    const bool huge = wants_huge(filling);
    while (!grow_by(bytes, huge)) {
      if (bytes == needed) return grow_unaligned(granules * granule_bytes);
      bytes = bytes / 2 > needed ? round_up(bytes / 2, arena_alignment) : needed;
    }
    return true;
  }
  bool grow_by(size_t bytes, bool huge) noexcept {
    // The kernel places mappings downward: below the last arena it is often free and joins it.
    void* hint = last_arena_ > bytes ? reinterpret_cast<void*>(last_arena_ - bytes) : nullptr;
    return add_arena(os::map_aligned(hint, bytes, arena_alignment), bytes, huge);
  }
  // When addresses are scarce, alignment to huge pages is the first thing to give up.
  bool grow_unaligned(size_t bytes) noexcept {
    return add_arena(os::map_aligned(nullptr, bytes, granule_bytes), bytes, false);
  }
  bool add_arena(void* at, size_t bytes, bool huge) noexcept {
    if (at == nullptr) return false;
    const uintptr_t base = reinterpret_cast<uintptr_t>(at);
    if (!page_map.cover(base, bytes)) {
      os::System::unmap(at, bytes);
      return false;
    }
    if (huge) os::System::advise_huge(at, bytes);
    last_arena_ = base;
    counters_.arena_count++;
    counters_.reserved_bytes += bytes;
    if (counters_.reserved_bytes > counters_.reserved_peak_bytes) {
      counters_.reserved_peak_bytes = counters_.reserved_bytes;
    }
    insert(base, bytes / granule_bytes, RangeState::clean);
    return true;
  }

  Lock lock_;
  RangeIndex dirty_, clean_;
  FreeRange* oldest_dirty_ = nullptr;
  FreeRange* newest_dirty_ = nullptr;
  FreeRange* unused_nodes_ = nullptr;
  uintptr_t last_arena_ = 0;
  static constexpr size_t nodes_per_supply = 1024;
  FreeRange* spare_nodes_ = nullptr;  // never used yet, and untouched
  size_t spare_nodes_left_ = 0;
  size_t node_count_ = 0;    // all nodes there are
  size_t given_count_ = 0;   // ranges with users, at least
  size_t purging_bytes_ = 0;
  Metadata metadata_;
  SpaceCounters counters_;
};

inline Space space;

}  // namespace talus

#endif  // TALUS_SPACE_SPACE_HPP
