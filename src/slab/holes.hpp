// SPDX-License-Identifier: MIT
// slab/holes: the pages of a slab that hold no live block.
//
// Owns: nothing; reads the free bitmap. Called on: whoever holds the lock of the slab's heap, or
// has the slab in state purging, when free blocks stay free. Must not know: what is done with
// pages.
#ifndef TALUS_SLAB_HOLES_HPP
#define TALUS_SLAB_HOLES_HPP

#include "slab/slab.hpp"

namespace talus {

// A word of the free bitmap, which others may be adding bits to: an old word shows fewer free
// blocks, and those it shows stay free.
TALUS_NO_RACE_CHECK inline uint64_t word_of_bitmap(const Slab& slab, uint32_t word) noexcept {
  return slab.free_bits()[word];
}

// The next block at or behind `index` that is free (or, with `is_wanted_free` false, that is not);
// block_count: none.
inline uint32_t next_block(const Slab& slab, uint32_t index, bool is_wanted_free) noexcept {
  while (index < slab.block_count) {
    const uint32_t word = index >> 6;
    uint64_t bits = word_of_bitmap(slab, word);
    if (!is_wanted_free) bits = ~bits;
    bits &= ~uint64_t{0} << (index & 63);
    if (bits != 0) {
      const uint32_t found = word * 64 + lowest_bit(bits);
      return found < slab.block_count ? found : slab.block_count;
    }
    index = (word + 1) * 64;
  }
  return slab.block_count;
}

// Calls visit(address, bytes) for each run of whole pages whose blocks are all free. What lies
// behind the last block belongs to no block, and to the run before it.
template <typename Visit>
TALUS_USUAL void visit_holes(const Slab& slab, size_t page_bytes, Visit visit) noexcept {
  uint32_t index = 0;
  while ((index = next_block(slab, index, true)) < slab.block_count) {
    const uint32_t end = next_block(slab, index, false);
    const size_t from = round_up(index * size_t{slab.block_bytes}, page_bytes);
    const size_t to = end == slab.block_count
                          ? slab.bytes()
                          : round_down(end * size_t{slab.block_bytes}, page_bytes);
    if (to > from) visit(slab.base + from, to - from);
    index = end;
  }
}

}  // namespace talus

#endif  // TALUS_SLAB_HOLES_HPP
