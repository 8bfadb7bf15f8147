// SPDX-License-Identifier: MIT
// heap/move_pages: contents that go to other addresses without a copy, as far as the kernel can.
//
// The kernel moves pages of one mapping at a time (os/os_linux.hpp says why), and a range may be
// several: some of its huge pages were asked for and others not, or contents were moved in before.
// What it refuses is copied.
// Owns: nothing. Invariant: there is never much more memory than the contents take.
// Called on: who owns both ranges, without a lock. Must not know: blocks.
#ifndef TALUS_HEAP_MOVE_PAGES_HPP
#define TALUS_HEAP_MOVE_PAGES_HPP

#include "os/bytes.hpp"
#include "os/os.hpp"

namespace talus {

// Moves or copies `bytes`, a multiple of a page, that nobody uses meanwhile, to where nothing is.
// Returns the bytes at the start of the old range that have no memory any more.
inline size_t move_pages(char* from, char* to, size_t bytes) noexcept {
  size_t done = 0;
  while (done < bytes) {
    const size_t moved = os::System::move_pages(from + done, to + done, bytes - done);
    if (moved == 0) break;
    done += moved;
  }
  // In pieces, each of which is given back.
  bool is_purged = true;
  size_t gone = done;
  for (size_t piece = 0; done < bytes; done += piece) {
    piece = bytes - done < urgent_piece_bytes ? bytes - done : urgent_piece_bytes;
    copy_bytes(to + done, from + done, piece);
    is_purged = is_purged && os::System::purge(from + done, piece);
    if (is_purged) gone = done + piece;
  }
  return gone;
}

}  // namespace talus

#endif  // TALUS_HEAP_MOVE_PAGES_HPP
