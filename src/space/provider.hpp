// SPDX-License-Identifier: MIT
// space/provider: where the pages of arenas come from, if not from the kernel as it gives them.
//
// Owns: the contract. Without a provider, address space asks the kernel itself (os/os.hpp) and
// spends nothing on this. With one, every range that is handed out was committed before: a page of
// it can be written to without a fault that has no memory.
// Called on: under the space lock, but for purge. Must not know: what ranges are free.
#ifndef TALUS_SPACE_PROVIDER_HPP
#define TALUS_SPACE_PROVIDER_HPP

#include "base/base.hpp"

namespace talus {

struct ProvidedRange {
  uintptr_t base = 0;  // 0: there is no more
  size_t bytes = 0;
};

// All of it is constant. Bases and bytes are multiples of a slice.
struct PageProvider {
  // Addresses for at least `bytes_min` and, if it can, `bytes_requested`, at a multiple of
  // arena_alignment; no two ranges touch each other, or any other arena.
  ProvidedRange (*reserve)(size_t bytes_min, size_t bytes_requested) noexcept;
  // The range has memory from here on; what never had any, or was purged, reads as zero. Up to
  // `room_bytes` from its start are free and may get memory along. False: there is none. Null: what
  // is reserved has memory.
  bool (*commit)(uintptr_t base, size_t bytes, size_t room_bytes) noexcept;
  // The range's memory goes; it is committed before it is used again. False: the contents may be
  // there or not, and the range is as good as it was. Null: memory stays for ever.
  bool (*purge)(uintptr_t base, size_t bytes) noexcept;
  // When it has no more, the kernel is asked.
  bool falls_back;
  // Descriptors lie there, too, so that the kernel is not asked for their memory either.
  bool holds_descriptors;
};

}  // namespace talus

#endif  // TALUS_SPACE_PROVIDER_HPP
