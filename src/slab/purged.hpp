// SPDX-License-Identifier: MIT
// slab/purged: which pages of a slab were given back to the kernel and have had no block since.
//
// Owns: the slab's bits for that, one for each unit of pages. A unit is a page, or as many pages as
// a 64th of the slab takes. Invariant: a unit whose bit is set holds free blocks alone, and nobody
// touched them since; so its pages need not be given back again and are not resident.
// Called on: whoever holds the lock of the slab's heap, or has the slab in state purging, when no
// block is taken from it. Must not know: how pages are given back.
#ifndef TALUS_SLAB_PURGED_HPP
#define TALUS_SLAB_PURGED_HPP

#include "slab/slab.hpp"

namespace talus {

// The units of a slab are 2^shift bytes.
inline unsigned purged_unit_shift(const Slab& slab, size_t page_bytes) noexcept {
  unsigned shift = lowest_bit(page_bytes);
  while (slab.bytes() >> shift > 64) shift++;
  return shift;
}

// Bits of the units from one to before another, as offsets in the slab shifted.
inline uint64_t purged_units_between(size_t first, size_t end) noexcept {
  return end > first ? low_bits(end - first) << first : 0;
}

// The units that lie in these bytes of the slab as a whole.
inline uint64_t purged_units_within(const Slab& slab, uintptr_t at, size_t bytes,
                                    unsigned shift) noexcept {
  const size_t from = at - slab.base;
  return purged_units_between(divide_up(from, size_t{1} << shift), (from + bytes) >> shift);
}

// Was all of these bytes given back, as far as units tell?
inline bool is_purged_page(const Slab& slab, uintptr_t at, size_t bytes, unsigned shift) noexcept {
  const size_t ends = (at - slab.base) | bytes;
  if ((ends & ((size_t{1} << shift) - 1)) != 0) return false;
  return (purged_units_within(slab, at, bytes, shift) & ~slab.purged_units) == 0;
}

// These blocks were taken from the slab. Returns the bytes that are still away.
inline size_t forget_purged(Slab& slab, void* const* blocks, size_t count,
                            size_t page_bytes) noexcept {
  const unsigned shift = purged_unit_shift(slab, page_bytes);
  uint64_t left = slab.purged_units;
  for (size_t i = 0; i < count && left != 0; i++) {
    const size_t from = reinterpret_cast<uintptr_t>(blocks[i]) - slab.base;
    left &= ~purged_units_between(from >> shift, ((from + slab.block_bytes - 1) >> shift) + 1);
  }
  slab.purged_units = left;
  return size_t{count_bits(left)} << shift;
}

}  // namespace talus

#endif  // TALUS_SLAB_PURGED_HPP
