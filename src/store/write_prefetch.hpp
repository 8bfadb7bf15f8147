// SPDX-License-Identifier: MIT
// store/write_prefetch: fetches the first line of a block before its owner's processor writes it.
//
// Owns: the size up to which blocks are fetched. It is no part of an owner struct: each remote free
// reads it, so it must not lie beside words that other threads write.
// Invariant: the contents of the block do not change. Called on: the freeing thread.
#ifndef TALUS_STORE_WRITE_PREFETCH_HPP
#define TALUS_STORE_WRITE_PREFETCH_HPP

#include "base/base.hpp"

namespace talus::core {

// Blocks of other heaps up to this size have their first line fetched for ownership; 0 after a
// fork.
TALUS_CONSTINIT inline Atomic<size_t> prefetched_bytes{prefetched_bytes_max};
// After a fork a write would copy a page that another process shares.
inline void stop_prefetching() noexcept {
  if (prefetched_bytes.load_hint() != 0) prefetched_bytes.store_hint(0);
}

// Makes the first line of a small block this processor's own before the block goes home. A mere
// read would leave the line shared with the owner's processor; its next write would wait, and it
// could not fetch lines ahead. The contents of the block do not change.
TALUS_FAST void prefetch_for_write(void* block, size_t block_bytes) noexcept {
  if (TALUS_UNLIKELY(block_bytes > prefetched_bytes.load_hint())) return;
  auto* byte = static_cast<volatile char*>(block);
  *byte = *byte;
}

}  // namespace talus::core

#endif  // TALUS_STORE_WRITE_PREFETCH_HPP
