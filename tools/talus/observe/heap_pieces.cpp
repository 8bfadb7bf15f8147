// SPDX-License-Identifier: MIT
//
// Owns: see heap_pieces.hpp.
// Invariants: see heap_pieces.hpp.
// Must not know: where pieces are found.

#include "observe/heap_pieces.hpp"

#include <algorithm>
#include <cstring>

namespace talus::tool {
namespace {

// Bytes of each page that have one use.
class PageSums {
 public:
  PageSums(uint64_t bytes, uint64_t page) : sums_((bytes + page - 1) / page), page_bytes_(page) {}
  void add(uint64_t from, uint64_t to) {
    while (from < to) {
      const uint64_t page = from / page_bytes_;
      const uint64_t end = std::min(to, (page + 1) * page_bytes_);
      sums_[page] += static_cast<uint32_t>(end - from);
      from = end;
    }
  }
  uint64_t operator[](size_t page) const { return sums_[page]; }
  size_t size() const { return sums_.size(); }

 private:
  std::vector<uint32_t> sums_;
  uint64_t page_bytes_;
};

enum class BlockState : uint8_t { live, free, waiting };

std::vector<BlockState> states_of(uint64_t base, const SlabBlocks& blocks,
                                  std::span<const uint64_t> waiting) {
  std::vector<BlockState> states(blocks.block_count, BlockState::live);
  for (uint64_t first = 0; first < blocks.block_count; first += 64) {
    uint64_t bits = 0;
    std::memcpy(&bits, blocks.free_bits + first / 8, sizeof bits);
    const uint64_t end = std::min<uint64_t>(64, blocks.block_count - first);
    for (uint64_t i = 0; bits != 0 && i < end; i++) {
      if ((bits >> i & 1) != 0) states[first + i] = BlockState::free;
    }
  }
  for (const uint64_t address : waiting) {
    const uint64_t index = (address - base) / blocks.block_bytes;
    const bool is_block = index < states.size() && (address - base) % blocks.block_bytes == 0;
    if (is_block && states[index] == BlockState::live) states[index] = BlockState::waiting;
  }
  return states;
}

uint8_t state_of_page(uint64_t live_bytes, uint64_t page) {
  const uint64_t level = (live_bytes * PageState::live_most + page - 1) / page;
  return static_cast<uint8_t>(PageState::resident | level);
}

// Fills in what pages say, once it is known which bytes of each are live, wait, or are free.
void fill_pages(HeapPiece& piece, const PageSums& live, const PageSums& waiting,
                const PageSums& free, const PagePresence& presence) {
  const uint64_t page = presence.page_bytes();
  for (size_t i = 0; i < live.size(); i++) {
    const uint64_t from = piece.base + i * page, to = std::min(from + page, piece.limit());
    if (presence.bytes_in(from, to) == 0) continue;
    if (piece.pages.empty()) piece.pages.resize(live.size());
    piece.pages[i] = state_of_page(live[i], page);
    piece.resident += to - from;
    piece.live += live[i];
    piece.waiting += waiting[i];
    piece.free += free[i];
    if (live[i] != 0) continue;
    piece.free_pages += to - from;
    piece.free_alone += free[i];
  }
  piece.end = piece.resident - piece.live - piece.waiting - piece.free;
}

}  // namespace

void fill_slab(HeapPiece& piece, const SlabBlocks& blocks, std::span<const uint64_t> waiting,
               const PagePresence& pages) {
  const auto first = std::lower_bound(waiting.begin(), waiting.end(), piece.base);
  const auto last = std::lower_bound(first, waiting.end(), piece.limit());
  const std::vector<BlockState> states =
      states_of(piece.base + blocks.front_bytes, blocks,
                waiting.subspan(static_cast<size_t>(first - waiting.begin()),
                                static_cast<size_t>(last - first)));
  PageSums sums[] = {{piece.bytes, pages.page_bytes()},
                     {piece.bytes, pages.page_bytes()},
                     {piece.bytes, pages.page_bytes()}};
  uint64_t counts[3] = {};
  for (size_t at = 0; at < states.size();) {  // run by run
    size_t next = at + 1;
    while (next < states.size() && states[next] == states[at]) next++;
    const auto state = static_cast<size_t>(states[at]);
    counts[state] += next - at;
    sums[state].add(blocks.front_bytes + at * blocks.block_bytes,
                    blocks.front_bytes + next * blocks.block_bytes);
    at = next;
  }
  piece.block_bytes = blocks.block_bytes;
  piece.block_count = blocks.block_count;
  piece.front_bytes = blocks.front_bytes;
  piece.is_live.reserve(states.size());
  for (const BlockState state : states) piece.is_live.push_back(state == BlockState::live);
  piece.live_count = counts[0];
  piece.waiting_count = counts[2];
  fill_pages(piece, sums[0], sums[2], sums[1], pages);
}

void fill_area(HeapPiece& piece, std::span<const AreaBlock> blocks, uint64_t unit_bytes,
               const PagePresence& pages) {
  const PageSums none(piece.bytes, pages.page_bytes());
  PageSums live = none, free = none;
  uint64_t end = 0;  // of the block before
  for (const AreaBlock& block : blocks) {
    const uint64_t from = std::max(end, block.offset);
    const uint64_t to = std::min(block.offset + block.bytes, piece.bytes);
    if (from > to) continue;  // torn
    free.add(end, from);
    piece.room_bytes += from - end;
    live.add(from, to);
    piece.live_count++;
    end = std::min((to + unit_bytes - 1) / unit_bytes * unit_bytes, piece.bytes);
  }
  free.add(end, piece.bytes);
  piece.room_bytes += piece.bytes - end;
  fill_pages(piece, live, none, free, pages);
}

void fill_large(HeapPiece& piece, uint64_t front, uint64_t usable_end, const PagePresence& pages) {
  const PageSums none(piece.bytes, pages.page_bytes());
  PageSums live = none;
  if (front < usable_end) live.add(front, std::min(usable_end, piece.bytes));
  piece.block_bytes = usable_end > front ? usable_end - front : 0;
  fill_pages(piece, live, none, none, pages);
}

void fill_plain(HeapPiece& piece, const PagePresence& pages) {
  const PageSums none(piece.bytes, pages.page_bytes());
  fill_pages(piece, none, none, none, pages);
}

void settle_pieces(PieceNotes& notes) {
  std::vector<HeapPiece>& all = notes.pieces;
  std::stable_sort(all.begin(), all.end(), [](const HeapPiece& a, const HeapPiece& b) {
    return a.base != b.base ? a.base < b.base : a.use == PieceUse::metadata && a.use != b.use;
  });
  std::vector<HeapPiece> kept;
  for (HeapPiece& piece : all) {
    const bool is_within = !kept.empty() && piece.base < kept.back().limit();
    if (is_within && piece.use == PieceUse::other) {
      if (piece.limit() <= kept.back().limit()) continue;
      // The end of a slice behind metadata; the piece was one slice, and its pages follow.
      const uint64_t cut = kept.back().limit() - piece.base;
      const uint64_t page = piece.pages.empty() ? 0 : piece.bytes / piece.pages.size();
      HeapPiece rest;
      rest.base = piece.base + cut;
      rest.bytes = piece.bytes - cut;
      if (page != 0) {
        rest.pages.assign(piece.pages.begin() + static_cast<long>(cut / page), piece.pages.end());
        for (const uint8_t state : rest.pages) rest.resident += state != 0 ? page : 0;
        rest.end = rest.free_pages = rest.resident;
      }
      piece = rest;
    }
    kept.push_back(std::move(piece));
  }
  all = std::move(kept);
}

}  // namespace talus::tool
