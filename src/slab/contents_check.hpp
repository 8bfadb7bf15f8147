// SPDX-License-Identifier: MIT
// slab/contents_check: looks at a block's trailer, and answers a damaged one.
//
// Owns: the answers. Invariant: once a thread works without the mode, for want of memory, no report
// is certain, so keeps_trailers() turns false and none is made. Called on: the thread that has the
// block, or claims it. Must not know: modes.
#ifndef TALUS_SLAB_CONTENTS_CHECK_HPP
#define TALUS_SLAB_CONTENTS_CHECK_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"
#include "slab/contents.hpp"
#include "slab/slab.hpp"

namespace talus::core {

// Without a report, the answer is a guess.
TALUS_APART size_t refuse_damage(const void* block, size_t bytes, size_t block_bytes,
                                 const char* call) noexcept {
  if (keeps_trailers()) report::write_behind(block, bytes, block_bytes, call);
  return bytes == block_bytes ? block_bytes - trailer_bytes : bytes;
}

// Reports a write behind the data of a block that has a trailer. Returns the bytes of data.
TALUS_FAST size_t prove_contents(const void* block, size_t block_bytes, const char* call) noexcept {
  const size_t bytes = Trailer::read(block, block_bytes);
  const bool is_whole = bytes != block_bytes && Trailer::is_canary_whole(block, block_bytes, bytes);
  return TALUS_LIKELY(is_whole) ? bytes : refuse_damage(block, bytes, block_bytes, call);
}

// The usable bytes of the block with this index, which may have a trailer.
TALUS_APART size_t usable_bytes_by_state(const Slab& slab, uint32_t index, const void* block,
                                         const char* call) noexcept {
  const bool has_trailer =
      slab.states != nullptr && (slab.states[index].load_own() & BlockState::with_trailer) != 0;
  return has_trailer ? prove_contents(block, slab.block_bytes, call) : slab.block_bytes;
}

}  // namespace talus::core

#endif  // TALUS_SLAB_CONTENTS_CHECK_HPP
