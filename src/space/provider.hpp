// SPDX-License-Identifier: MIT
// space/provider: where the pages of arenas come from, if not directly from the kernel.
//
// Owns: the contract. Without a provider, address space asks the kernel itself (os/os.hpp), and
// this file costs nothing. With one, every range is committed before it is handed out: writing to
// its pages cannot fault for lack of memory.
// Called on: under the space lock, except purge. Must not know: what ranges are free.
#ifndef TALUS_SPACE_PROVIDER_HPP
#define TALUS_SPACE_PROVIDER_HPP

#include "base/base.hpp"

namespace talus::core {

struct ProvidedRange {
  uintptr_t base = 0;  // 0: there is no more
  size_t bytes = 0;
};

// All members are constant. Bases and bytes are multiples of a slice.
struct PageProvider {
  // Reserves addresses for at least `bytes_min` and, if possible, `bytes_requested`, at a multiple
  // of arena_alignment. No two ranges touch each other, or any other arena.
  ProvidedRange (*reserve)(size_t bytes_min, size_t bytes_requested) noexcept;
  // Gives the range memory. Memory that is new or was purged reads as zero. Up to `room_bytes` from
  // the start of the range are free and may get memory, too. False: there is none. Null: reserved
  // ranges have memory.
  bool (*commit)(uintptr_t base, size_t bytes, size_t room_bytes) noexcept;
  // Purges the range; it is committed before it is used again. False: the contents may be there or
  // not, and the range stays usable. Null: memory stays for ever.
  bool (*purge)(uintptr_t base, size_t bytes) noexcept;
  // The kernel is asked when the provider has no more.
  bool falls_back;
  // Descriptors lie in this memory, too, so that the kernel is not asked for theirs either.
  bool holds_descriptors;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_PROVIDER_HPP
