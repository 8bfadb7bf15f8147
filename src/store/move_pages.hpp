// SPDX-License-Identifier: MIT
// store/move_pages: moves contents to other addresses, without a copy where the kernel can.
//
// The kernel moves pages of one mapping at a time (os/linux/memory.hpp says why). A range may be
// several mappings: some of its huge pages were asked for and others not, or contents were moved in
// before. What the kernel refuses is copied. Moved pages stay a separate mapping at their new
// place. The old place gets fresh mappings. Otherwise the number of mappings would grow with each
// move, page tables would remain that prevent huge pages (space/range_purger.hpp), and earlier
// moved pages would stay.
// Owns: nothing. Invariant: memory use is never much more than the contents.
// Called on: the thread that owns both ranges, without a lock. Must not know: blocks.
#ifndef TALUS_STORE_MOVE_PAGES_HPP
#define TALUS_STORE_MOVE_PAGES_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"

namespace talus::core {

// Moves or copies the first `bytes` of a range of `range_bytes` to an empty place. No thread uses
// the range meanwhile. Returns the bytes at the start of the old range that have no memory now.
// Moves a whole range, with what lies behind the contents.
inline size_t move_pages(char* from, size_t range_bytes, char* to, size_t bytes) noexcept {
  size_t done = 0;
  while (done < range_bytes) {
    const size_t moved = os::System::move_pages(from + done, to + done, range_bytes - done);
    if (moved == 0) break;
    done += moved;
  }
  if (done != 0) os::System::map_anew(from, done);
  // In pieces; each is purged after its copy.
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

}  // namespace talus::core

#endif  // TALUS_STORE_MOVE_PAGES_HPP
