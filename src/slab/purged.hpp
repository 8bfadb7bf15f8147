// SPDX-License-Identifier: MIT
// slab/purged: which pages of a slab were purged and have had no block since.
//
// Owns: the slab's bits for that, one for each unit. In most slabs a unit is a page, or as many
// pages as a 64th of the slab takes. In slabs of large blocks that begin anywhere in a page, a unit
// is a block: the whole pages in it. Invariant: a unit whose bit is set holds only free blocks, and
// was not touched since it was purged. So its pages are not resident and need no second purge.
// Called on: the thread that holds the lock of the slab's heap, or has the slab in state purging,
// when no block is taken from it. Must not know: how pages are purged.
#ifndef TALUS_SLAB_PURGED_HPP
#define TALUS_SLAB_PURGED_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "slab/slab.hpp"

namespace talus::core {

// Bits of the units from `first` to before `end`.
inline uint64_t purged_units_between(size_t first, size_t end) noexcept {
  return end > first ? low_bits(end - first) << first : 0;
}

// Is a unit a block? A slab of a larger fitted class has at most 64.
inline bool has_block_units(const Slab& slab, size_t page_bytes) noexcept {
  return is_fitted(slab.class_id) && is_medium(slab.class_id) && slab.block_bytes >= 2 * page_bytes;
}

// A slab with such units that just began in a range without pages may never be filled. Its pages
// count as purged ones do.
inline void be_untouched(Slab& slab) noexcept {
  TALUS_ASSERT(slab.is_empty() && slab.block_count <= 64);
  slab.purged_units = low_bits(slab.block_count);
  slab.purged_page_bytes = slab.block_count * slab.block_bytes;
}

// How the bits of a slab divide it.
class PurgedUnits {
 public:
  PurgedUnits(const Slab& slab, size_t page_bytes) noexcept
      : slab_{slab}, page_bytes_{page_bytes}, shift_{lowest_bit(page_bytes)} {
    TALUS_ASSERT(is_power_of_two(page_bytes));
    are_blocks_ = has_block_units(slab, page_bytes);
    TALUS_ASSERT(!are_blocks_ || slab.block_count <= 64);
    while (!are_blocks_ && slab.bytes() >> shift_ > 64) shift_++;
  }

  // Bits of the units that lie completely inside these whole pages of the slab.
  uint64_t within(uintptr_t at, size_t bytes) const noexcept {
    TALUS_ASSERT(at >= slab_.base && at + bytes <= slab_.range_base() + slab_.bytes());
    const size_t from = at - slab_.base, to = from + bytes;
    if (!are_blocks_) {
      return purged_units_between(divide_up(from, size_t{1} << shift_), to >> shift_);
    }
    // A block may begin behind the start of the page before, and end before the end of the next.
    const size_t before = from < page_bytes_ ? 0 : from - (page_bytes_ - 1);
    const size_t first = divide_up(before, slab_.block_bytes);
    size_t end = (to + page_bytes_ - 1) / slab_.block_bytes;
    if (end > slab_.block_count) end = slab_.block_count;
    return purged_units_between(first, end);
  }

  // Were all of these whole pages of free blocks purged, as far as units tell? A page that two
  // blocks share counts as the blocks do.
  bool are_purged(uintptr_t at, size_t bytes) const noexcept {
    const size_t ends = (at - slab_.base) | bytes;
    if (!are_blocks_ && (ends & ((size_t{1} << shift_) - 1)) != 0) return false;
    const uint64_t units = within(at, bytes);
    return (units & ~slab_.purged_units) == 0 && (units != 0 || !are_blocks_);
  }

  // Bits of the units in which this block lies.
  uint64_t of_block(const void* block) const noexcept {
    const size_t from = reinterpret_cast<uintptr_t>(block) - slab_.base;
    if (are_blocks_) return uint64_t{1} << slab_.index_of_block(block);
    return purged_units_between(from >> shift_, ((from + slab_.block_bytes - 1) >> shift_) + 1);
  }

  size_t bytes_of(uint64_t units) const noexcept {
    if (!are_blocks_) return size_t{count_bits(units)} << shift_;
    return count_bits(units) * round_down(slab_.block_bytes - page_bytes_, page_bytes_);
  }

 private:
  const Slab& slab_;
  size_t page_bytes_;
  unsigned shift_;  // of units that are no blocks
  bool are_blocks_ = false;
};

// These blocks were taken from the slab. Returns the bytes that are still purged.
inline size_t forget_purged(Slab& slab, void* const* blocks, size_t count,
                            size_t page_bytes) noexcept {
  const PurgedUnits units{slab, page_bytes};
  uint64_t left = slab.purged_units;
  for (size_t i = 0; i < count && left != 0; i++) left &= ~units.of_block(blocks[i]);
  TALUS_ASSERT((left & ~slab.purged_units) == 0);
  slab.purged_units = left;
  return units.bytes_of(left);
}

}  // namespace talus::core

#endif  // TALUS_SLAB_PURGED_HPP
