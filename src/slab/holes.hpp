// SPDX-License-Identifier: MIT
// slab/holes: the pages of a slab that hold no live block.
//
// Owns: nothing; reads the free bitmap. Called on: the thread that holds the lock of the slab's
// heap, or has the slab in state purging, when free blocks stay free. Must not know: what is done
// with pages.
#ifndef TALUS_SLAB_HOLES_HPP
#define TALUS_SLAB_HOLES_HPP

#include "base/base.hpp"
#include "slab/slab.hpp"

namespace talus::core {

// Reads a word of the free bitmap, to which other threads may be adding bits. An old value shows
// fewer free blocks, and the blocks it shows stay free.
TALUS_NO_RACE_CHECK inline uint64_t word_of_bitmap(const Slab& slab, uint32_t word) noexcept {
  return slab.free_bits()[word];
}

// The next block at or behind `index` that is free (with `is_wanted_free` false: not free);
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

// Calls visit(address, bytes) for each run of whole pages whose blocks are all free. The rest
// behind the last block counts to the run before it.
template <typename Visit>
TALUS_USUAL void visit_holes(const Slab& slab, size_t page_bytes, Visit visit) noexcept {
  TALUS_ASSERT(slab.bytes() % page_bytes == 0);
  uint32_t index = 0;
  while ((index = next_block(slab, index, true)) < slab.block_count) {
    const uint32_t end = next_block(slab, index, false);
    TALUS_ASSERT(end > index);  // so the loop ends
    const uintptr_t from = round_up(slab.base + index * size_t{slab.block_bytes}, page_bytes);
    const uintptr_t to = end == slab.block_count
                             ? slab.range_base() + slab.bytes()
                             : round_down(slab.base + end * size_t{slab.block_bytes}, page_bytes);
    if (to > from) visit(from, to - from);
    index = end;
  }
}

}  // namespace talus::core

#endif  // TALUS_SLAB_HOLES_HPP
