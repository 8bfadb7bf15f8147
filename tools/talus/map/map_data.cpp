// SPDX-License-Identifier: MIT
//
// Owns: see map_data.hpp. A region is a row of pieces with small gaps. Its pages are one text: a
// letter for each state, and how often it repeats.
// Invariant: see map_data.hpp. What is untouched and large is a gap, so size follows memory.
// Must not know: how the page draws them.

#include "map/map_data.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/config.hpp"
#include "json.hpp"

namespace talus::tool {
namespace {

constexpr uint64_t gap_bytes_max = uint64_t{1} << 20;
constexpr uint64_t untouched_bytes_max = uint64_t{16} << 20;
constexpr char absent = 'A', none_live = 'B', outside = 'K';  // between: eighths that are live

uint64_t page_size() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

class PageText {
 public:
  void add(char state, uint64_t times) {
    if (times == 0) return;
    if (state != state_) flush();
    state_ = state;
    times_ += times;
  }
  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (times_ != 0) text_ += state_;
    if (times_ > 1) text_ += std::to_string(times_);
    times_ = 0;
  }
  std::string text_;
  char state_ = 0;
  uint64_t times_ = 0;
};

char letter_of(uint8_t state) {
  if (state == 0) return absent;
  const unsigned live = state & (PageState::resident - 1);
  return static_cast<char>(none_live +
                           (live * 8 + PageState::live_most - 1) / PageState::live_most);
}

class Regions {
 public:
  void add(const HeapPiece& piece) {
    const bool is_gap = piece.use == PieceUse::untouched_range && piece.resident == 0 &&
                        piece.bytes > untouched_bytes_max;
    if (is_gap || piece.bytes < page_) return;
    if (end_ == 0 || piece.base < end_ || piece.base - end_ > gap_bytes_max) {
      close();
      base_ = end_ = piece.base;
    }
    if (const uint64_t gap = (piece.base - end_) / page_; gap != 0) {
      pieces_.push_back({-1, gap});
      pages_.add(outside, gap);
    }
    const uint64_t pages = (piece.bytes + page_ - 1) / page_;
    Json row = {static_cast<int>(piece.use), pages};
    if (piece.use == PieceUse::slab) {
      for (const uint64_t number : {piece.block_bytes, piece.block_count, piece.live_count,
                                    piece.waiting_count, piece.heap}) {
        row.push_back(number);
      }
    } else if (piece.use == PieceUse::live_large) {
      row.push_back(piece.block_bytes);
    } else if (piece.use == PieceUse::sample_area) {
      row.push_back(piece.live_count);
      row.push_back(piece.room_bytes);
    }
    pieces_.push_back(std::move(row));
    if (piece.pages.empty()) pages_.add(absent, pages);
    for (const uint8_t state : piece.pages) pages_.add(letter_of(state), 1);
    end_ = piece.base + pages * page_;
  }

  Json take() {
    close();
    return std::move(all_);
  }

 private:
  void close() {
    if (pieces_.empty()) return;
    all_.push_back({{"base", base_}, {"pieces", std::move(pieces_)}, {"pages", pages_.take()}});
    pieces_ = Json::array();
  }

  uint64_t page_ = page_size(), base_ = 0, end_ = 0;
  Json all_ = Json::array(), pieces_ = Json::array();
  PageText pages_;
};

// Places of huge pages, in runs: what is resident as a whole where the kernel counts huge pages.
Json huge_pages(std::span<const HeapPiece* const> pieces, const std::vector<MappedArea>& areas) {
  Json runs = Json::array();
  uint64_t begin = 0, end = 0;
  const auto close = [&] {
    if (begin != end) runs.push_back({begin, (end - begin) / huge_page_bytes});
  };
  for (const MappedArea& area : areas) {
    if (area.huge_bytes == 0) continue;
    uint64_t at = (area.begin + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    uint64_t left = area.huge_bytes;
    for (; at + huge_page_bytes <= area.end && left != 0; at += huge_page_bytes) {
      if (resident_in_pieces(pieces, at, at + huge_page_bytes) != huge_page_bytes) continue;
      left -= std::min(left, huge_page_bytes);
      if (at != end) {
        close();
        begin = at;
      }
      end = at + huge_page_bytes;
    }
  }
  close();
  return runs;
}

std::string now_as_text() {
  char text[64] = {};
  const time_t now = ::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  ::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

Json groups_of(const Picture& picture) {
  Json groups = Json::array();
  for (size_t i = 0; i < part_group_count; i++) {
    groups.push_back({{"group", group_words[i].name},
                      {"label", group_words[i].label},
                      {"bytes", picture.group(static_cast<PartGroup>(i))}});
  }
  return groups;
}

std::string without_tags(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

}  // namespace

std::string map_data(const PictureTitle& title, const Picture& picture,
                     const std::vector<Numbers>& copies, const std::vector<MappedArea>& areas) {
  std::vector<const HeapPiece*> pieces;
  for (const Numbers& numbers : copies) {
    for (const HeapPiece& piece : numbers.notes.pieces) pieces.push_back(&piece);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const HeapPiece* a, const HeapPiece* b) { return a->base < b->base; });
  Regions regions;
  for (const HeapPiece* const piece : pieces) regions.add(*piece);
  return without_tags(one_line({{"program", title.name},
                                {"process", title.process_id},
                                {"version", title.version},
                                {"time", now_as_text()},
                                {"consistent", title.is_consistent},
                                {"pages_known", picture.is_resident},
                                {"total_bytes", picture.total},
                                {"page_bytes", page_size()},
                                {"huge_bytes", huge_page_bytes},
                                {"heap_count_max", core::heap_count_max},
                                {"groups", groups_of(picture)},
                                {"huge", huge_pages(pieces, areas)},
                                {"regions", regions.take()}}));
}

}  // namespace talus::tool
