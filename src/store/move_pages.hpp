// SPDX-License-Identifier: MIT
// store/move_pages: contents that go to other addresses without a copy, as far as the kernel can.
//
// The kernel moves pages of one mapping at a time (os/os_linux.hpp says why), and a range may be
// several: some of its huge pages were asked for and others not, or contents were moved in before.
// What it refuses is copied. What was moved stays a mapping apart where it arrives; where it was,
// pages are mapped anew, or mappings would become more with each move, tables would stay that keep
// huge pages out (space/giving_back.hpp), and so would what moved in there before.
// Owns: nothing. Invariant: there is never much more memory than the contents take.
// Called on: who owns both ranges, without a lock. Must not know: blocks.
#ifndef TALUS_STORE_MOVE_PAGES_HPP
#define TALUS_STORE_MOVE_PAGES_HPP

#include "os/bytes.hpp"
#include "os/os.hpp"

namespace talus {

// Moves or copies the first `bytes` of a range of `range_bytes`, which nobody uses meanwhile, to
// where nothing is. Returns the bytes at the start of the old range that have no memory any more. A
// range is moved whole, with what lies behind the contents.
inline size_t move_pages(char* from, size_t range_bytes, char* to, size_t bytes) noexcept {
  size_t done = 0;
  while (done < range_bytes) {
    const size_t moved = os::System::move_pages(from + done, to + done, range_bytes - done);
    if (moved == 0) break;
    done += moved;
  }
  if (done != 0) os::System::renew(from, done);
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

#endif  // TALUS_STORE_MOVE_PAGES_HPP
