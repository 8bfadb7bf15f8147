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
#include "json_text.hpp"

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
      add_row(fmt::format("[-1,{}]", gap));
      pages_.add(outside, gap);
    }
    const uint64_t pages = (piece.bytes + page_ - 1) / page_;
    std::string row = fmt::format("[{},{}", static_cast<int>(piece.use), pages);
    if (piece.use == PieceUse::slab) {
      row += fmt::format(",{},{},{},{},{}", piece.block_bytes, piece.block_count, piece.live_count,
                         piece.waiting_count, piece.heap);
    } else if (piece.use == PieceUse::live_large) {
      row += fmt::format(",{}", piece.block_bytes);
    }
    add_row(row + "]");
    if (piece.pages.empty()) pages_.add(absent, pages);
    for (const uint8_t state : piece.pages) pages_.add(letter_of(state), 1);
    end_ = piece.base + pages * page_;
  }

  std::string take() {
    close();
    return "[" + all_ + "]";
  }

 private:
  void add_row(const std::string& row) { rows_ += (rows_.empty() ? "" : ",") + row; }
  void close() {
    if (rows_.empty()) return;
    all_ += all_.empty() ? "" : ",\n";
    all_ += fmt::format("{{\"base\":{},\"pieces\":[{}],\"pages\":\"{}\"}}", base_, rows_,
                        pages_.take());
    rows_.clear();
  }

  uint64_t page_ = page_size(), base_ = 0, end_ = 0;
  std::string all_, rows_;
  PageText pages_;
};

// Places of huge pages, in runs: what is resident as a whole where the kernel counts huge pages.
std::string huge_pages(std::span<const HeapPiece* const> pieces,
                       const std::vector<MappedArea>& areas) {
  std::string text;
  uint64_t begin = 0, end = 0;
  const auto close = [&] {
    if (begin == end) return;
    text += text.empty() ? "" : ",";
    text += fmt::format("[{},{}]", begin, (end - begin) / huge_page_bytes);
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
  return "[" + text + "]";
}

std::string now_as_text() {
  char text[64] = {};
  const time_t now = ::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  ::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string groups_of(const Picture& picture) {
  std::string text;
  for (size_t i = 0; i < part_group_count; i++) {
    text += fmt::format("{}{{\"group\":\"{}\",\"label\":\"{}\",\"bytes\":{}}}", i == 0 ? "" : ",",
                        group_words[i].name, group_words[i].label,
                        picture.group(static_cast<PartGroup>(i)));
  }
  return "[" + text + "]";
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
  return without_tags(fmt::format(
      "{{\"program\":{},\"process\":{},\"version\":{},\"time\":\"{}\",\"consistent\":{},"
      "\"pages_known\":{},\"total_bytes\":{},\"page_bytes\":{},\"huge_bytes\":{},"
      "\"heap_count_max\":{},\"groups\":{},\n"
      "\"huge\":{},\n\"regions\":{}}}",
      json_string(title.name), title.process_id, json_string(title.version), now_as_text(),
      title.is_consistent, picture.is_resident, picture.total, page_size(), huge_page_bytes,
      core::heap_count_max, groups_of(picture), huge_pages(pieces, areas), regions.take()));
}

}  // namespace talus::tool
