// SPDX-License-Identifier: MIT
// slab/purged: which pages of a slab were purged and have had no block since.
//
// Owns: the slab's bits for that, one for each unit of pages. A unit is a page, or as many pages as
// a 64th of the slab takes. Invariant: a unit whose bit is set holds only free blocks, and was not
// touched since it was purged. So its pages are not resident and need no second purge.
// Called on: the thread that holds the lock of the slab's heap, or has the slab in state purging,
// when no block is taken from it. Must not know: how pages are purged.
#ifndef TALUS_SLAB_PURGED_HPP
#define TALUS_SLAB_PURGED_HPP

#include "base/base.hpp"
#include "slab/slab.hpp"

namespace talus::core {

// The units of a slab are 2^shift bytes.
inline unsigned purged_unit_shift(const Slab& slab, size_t page_bytes) noexcept {
  TALUS_ASSERT(is_power_of_two(page_bytes));
  unsigned shift = lowest_bit(page_bytes);
  while (slab.bytes() >> shift > 64) shift++;
  return shift;
}

// Bits of the units from `first` to before `end`.
inline uint64_t purged_units_between(size_t first, size_t end) noexcept {
  return end > first ? low_bits(end - first) << first : 0;
}

// The units that lie completely inside these bytes of the slab.
inline uint64_t purged_units_within(const Slab& slab, uintptr_t at, size_t bytes,
                                    unsigned shift) noexcept {
  TALUS_ASSERT(at >= slab.base && at + bytes <= slab.base + slab.bytes());
  const size_t from = at - slab.base;
  return purged_units_between(divide_up(from, size_t{1} << shift), (from + bytes) >> shift);
}

// Were all of these bytes purged, as far as units tell?
inline bool is_purged_page(const Slab& slab, uintptr_t at, size_t bytes, unsigned shift) noexcept {
  const size_t ends = (at - slab.base) | bytes;
  if ((ends & ((size_t{1} << shift) - 1)) != 0) return false;
  return (purged_units_within(slab, at, bytes, shift) & ~slab.purged_units) == 0;
}

// These blocks were taken from the slab. Returns the bytes that are still purged.
inline size_t forget_purged(Slab& slab, void* const* blocks, size_t count,
                            size_t page_bytes) noexcept {
  const unsigned shift = purged_unit_shift(slab, page_bytes);
  uint64_t left = slab.purged_units;
  for (size_t i = 0; i < count && left != 0; i++) {
    const size_t from = reinterpret_cast<uintptr_t>(blocks[i]) - slab.base;
    left &= ~purged_units_between(from >> shift, ((from + slab.block_bytes - 1) >> shift) + 1);
  }
  TALUS_ASSERT((left & ~slab.purged_units) == 0);
  slab.purged_units = left;
  return size_t{count_bits(left)} << shift;
}

}  // namespace talus::core

#endif  // TALUS_SLAB_PURGED_HPP
