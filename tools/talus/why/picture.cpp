// SPDX-License-Identifier: MIT
//
// Owns: the sums over pieces of Talus, and over what else is mapped.
// Invariant: see picture.hpp.
// Must not know: how the picture is shown.

#include "why/picture.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace talus::tool {
namespace {

constexpr size_t others_max = 3;

std::vector<Part> all_parts() {
  return {{"live_small", "small blocks", PartGroup::in_use},
          {"live_large", "large blocks", PartGroup::in_use},
          {"sampled", "sampled blocks", PartGroup::in_use},
          {"pinned", "between live blocks", PartGroup::free},
          {"free_pages", "whole pages in slabs", PartGroup::free},
          {"lists", "in lists of threads", PartGroup::free},
          {"kept", "large blocks that threads keep", PartGroup::free},
          {"sample_room", "room in areas of samples", PartGroup::free},
          {"ranges", "free ranges", PartGroup::free},
          {"metadata", "descriptors, page map", PartGroup::own},
          {"ends", "ends of slabs and large blocks", PartGroup::own},
          {"code", "program and libraries", PartGroup::others},
          {"files", "other files", PartGroup::others},
          {"shared", "shared memory", PartGroup::others},
          {"stacks", "stacks", PartGroup::others},
          {"brk", "heap of brk", PartGroup::others},
          {"anonymous", "other anonymous memory", PartGroup::others},
          {"kernel", "of the kernel", PartGroup::others},
          {"changed", "changed during the look", PartGroup::others}};
}

constexpr const char* area_parts[area_use_count] = {"code", "files",     "shared", "stacks",
                                                    "brk",  "anonymous", "kernel"};

std::vector<SurvivorPicture> all_survivors() {
  return {{"none", 0, 0},         {"1", 1, 1},
          {"2 to 7", 2, 7},       {"8 to 63", 8, 63},
          {"64 to 511", 64, 511}, {"512 and more", 512, UINT64_MAX}};
}

std::vector<AgePicture> all_ages() {
  constexpr uint64_t second = 1000, minute = 60 * second;
  return {{"less than 1 s", 0, second - 1},
          {"1 to 10 s", second, 10 * second - 1},
          {"10 s to 1 min", 10 * second, minute - 1},
          {"1 to 10 min", minute, 10 * minute - 1},
          {"10 min and more", 10 * minute, UINT64_MAX}};
}

using FreeByAge = std::map<uint64_t, uint64_t>;  // free bytes in slabs of an age in ms

// The age that half of the free bytes have reached.
std::optional<uint64_t> usual_age(const FreeByAge& free) {
  uint64_t all = 0, older = 0;
  for (const auto& [age, bytes] : free) all += bytes;
  if (all == 0) return std::nullopt;
  for (auto at = free.rbegin(); at != free.rend(); at++) {
    older += at->second;
    if (older >= all - all / 2) return at->first;
  }
  return std::nullopt;
}

class Painter {
 public:
  explicit Painter(Picture& picture) : picture_(picture) {}
  void begin_copy(uint64_t pass_ms) { pass_ms_ = pass_ms; }
  void add_piece(const HeapPiece& piece);
  void add_areas(const std::vector<MappedArea>& areas, const std::vector<const HeapPiece*>& pieces);
  void end();

 private:
  uint64_t& part(const char* name) { return picture_.part_of(name).bytes; }
  void add_slab(const HeapPiece& piece);
  void add_age(const HeapPiece& piece);
  void add_area(const HeapPiece& piece);
  void add_other(const MappedArea& area, uint64_t bytes);
  void add_huge(const MappedArea& area, const std::vector<const HeapPiece*>& pieces, size_t first);

  Picture& picture_;
  uint64_t pass_ms_ = 0;  // of the copy whose pieces are added
  std::map<uint64_t, ClassPicture> classes_;
  std::map<uint64_t, FreeByAge> free_by_age_;  // of each class
};

void Painter::add_slab(const HeapPiece& piece) {
  part("live_small") += piece.live;
  part("lists") += piece.waiting;
  part("free_pages") += piece.free_alone;
  part("pinned") += piece.free - piece.free_alone;
  part("ends") += piece.end;
  picture_.purgeable_bytes += piece.free_pages;
  ClassPicture& row = classes_[piece.block_bytes];
  row.block_bytes = piece.block_bytes;
  row.slabs++;
  row.resident += piece.resident;
  row.live += piece.live;
  row.free_pages += piece.free_pages;
  row.pinned += piece.free - piece.free_alone;
  const uint64_t bin = piece.block_count == 0 || piece.live_count == 0
                           ? 0
                           : (piece.live_count * ClassPicture::bins - 1) / piece.block_count;
  row.occupancy[std::min<uint64_t>(bin, ClassPicture::bins - 1)]++;
  for (SurvivorPicture& survivor : picture_.survivors) {
    if (piece.live_count < survivor.least || piece.live_count > survivor.most) continue;
    survivor.slabs++;
    survivor.resident += piece.resident;
    survivor.free += piece.free + piece.waiting;
  }
}

void Painter::add_age(const HeapPiece& piece) {
  if (!piece.age_passes) return;
  if (picture_.ages.empty()) picture_.ages = all_ages();
  const uint64_t age_ms = *piece.age_passes * pass_ms_, free = piece.free + piece.waiting;
  free_by_age_[piece.block_bytes][age_ms] += free;
  for (AgePicture& age : picture_.ages) {
    if (age_ms < age.least_ms || age_ms > age.most_ms) continue;
    age.slabs++;
    age.resident += piece.resident;
    age.free += free;
  }
}

void Painter::add_area(const HeapPiece& piece) {
  part("sampled") += piece.live;
  part("sample_room") += piece.free;
  part("ends") += piece.end;
  picture_.purgeable_bytes += piece.free_pages;
  picture_.sample_areas++;
  picture_.sample_area_bytes += piece.bytes;
  picture_.samples += piece.live_count;
  picture_.sample_room_bytes += piece.room_bytes;
}

void Painter::add_piece(const HeapPiece& piece) {
  switch (piece.use) {
    case PieceUse::slab:
      add_slab(piece);
      add_age(piece);
      break;
    case PieceUse::live_large:
      part("live_large") += piece.live;
      part("ends") += piece.end;
      break;
    case PieceUse::kept_large:
      part("kept") += piece.resident;
      picture_.purgeable_bytes += piece.resident;
      break;
    case PieceUse::free_range:
      picture_.purgeable_bytes += piece.resident;
      [[fallthrough]];
    case PieceUse::untouched_range:
      part("ranges") += piece.resident;
      break;
    case PieceUse::metadata:
      part("metadata") += piece.resident;
      break;
    case PieceUse::other:
      part("ends") += piece.resident;
      break;
    case PieceUse::sample_area:
      add_area(piece);
      break;
  }
}

// Resident bytes of a piece between two addresses.
uint64_t resident_in(const HeapPiece& piece, uint64_t from, uint64_t to) {
  from = std::max(from, piece.base);
  to = std::min(to, piece.limit());
  if (from >= to || piece.pages.empty()) return 0;
  const uint64_t page = piece.bytes / piece.pages.size();
  uint64_t bytes = 0;
  for (uint64_t at = from / page * page; at < to; at += page) {
    if (piece.pages[(at - piece.base) / page] != 0) bytes += page;
  }
  return bytes;
}

// Blocks of the size and the place of a huge page that are resident as a whole.
void Painter::add_huge(const MappedArea& area, const std::vector<const HeapPiece*>& pieces,
                       size_t first) {
  uint64_t all = 0, without_live = 0, unused = 0;
  uint64_t at = (area.begin + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  for (; at + huge_page_bytes <= area.end; at += huge_page_bytes) {
    while (first < pieces.size() && pieces[first]->limit() <= at) first++;
    uint64_t resident = 0, free = 0, in_slabs = 0;
    for (size_t i = first; i < pieces.size() && pieces[i]->base < at + huge_page_bytes; i++) {
      const HeapPiece& piece = *pieces[i];
      if (piece.pages.empty()) continue;
      const uint64_t page = piece.bytes / piece.pages.size();
      const uint64_t end = std::min(at + huge_page_bytes, piece.limit());
      for (uint64_t where = std::max(at, piece.base); where < end; where += page) {
        const uint8_t state = piece.pages[(where - piece.base) / page];
        if (state == 0) continue;
        resident += page;
        if (state != PageState::resident || piece.use == PieceUse::metadata) continue;
        free += page;
        const bool is_unused =
            piece.use == PieceUse::slab || piece.use == PieceUse::untouched_range;
        in_slabs += is_unused ? page : 0;
      }
    }
    if (resident != huge_page_bytes) continue;
    all += resident;
    without_live += free;
    unused += in_slabs;
  }
  if (all == 0) return;
  // More blocks are resident than are huge pages: each may be one, so each counts in part.
  const uint64_t huge = std::min(area.huge_bytes, all);
  const double share = static_cast<double>(huge) / static_cast<double>(all);
  picture_.huge_bytes += huge;
  picture_.huge_free_bytes += static_cast<uint64_t>(static_cast<double>(without_live) * share);
  picture_.huge_unused_bytes += static_cast<uint64_t>(static_cast<double>(unused) * share);
}

void Painter::add_areas(const std::vector<MappedArea>& areas,
                        const std::vector<const HeapPiece*>& pieces) {
  size_t first = 0;
  for (const MappedArea& area : areas) {
    while (first < pieces.size() && pieces[first]->limit() <= area.begin) first++;
    uint64_t own = 0;
    for (size_t i = first; i < pieces.size() && pieces[i]->base < area.end; i++) {
      own += resident_in(*pieces[i], area.begin, area.end);
    }
    picture_.total += area.resident_bytes;
    picture_.swapped_bytes += area.swapped_bytes;
    if (own != 0 && area.huge_bytes != 0) add_huge(area, pieces, first);
    if (own > area.resident_bytes) continue;
    part(area_parts[static_cast<size_t>(area.use)]) += area.resident_bytes - own;
    add_other(area, area.resident_bytes - own);
  }
}

// The mappings of one file count together; anonymous ones stand alone.
void Painter::add_other(const MappedArea& area, uint64_t bytes) {
  for (MappedArea& known : picture_.largest_others) {
    if (area.path.empty() || known.path != area.path) continue;
    known.resident_bytes += bytes;
    return;
  }
  picture_.largest_others.push_back(area);
  picture_.largest_others.back().resident_bytes = bytes;
}

void Painter::end() {
  for (auto& [bytes, row] : classes_) {
    row.age_ms = usual_age(free_by_age_[bytes]);
    picture_.classes.push_back(row);
  }
  std::stable_sort(picture_.classes.begin(), picture_.classes.end(),
                   [](const ClassPicture& a, const ClassPicture& b) {
                     return a.pinned + a.free_pages > b.pinned + b.free_pages;
                   });
  std::vector<MappedArea>& others = picture_.largest_others;
  std::stable_sort(others.begin(), others.end(), [](const MappedArea& a, const MappedArea& b) {
    return a.resident_bytes > b.resident_bytes;
  });
  if (others.size() > others_max) others.resize(others_max);
  uint64_t sum = 0;
  for (const Part& part : picture_.parts) sum += part.bytes;
  if (!picture_.is_resident) picture_.total = sum;
  // Pages of zeros count here and not in Rss, and a mapping may end meanwhile.
  picture_.beyond_total = sum > picture_.total ? sum - picture_.total : 0;
  part("changed") = sum < picture_.total ? picture_.total - sum : 0;
}

}  // namespace

uint64_t resident_in_pieces(std::span<const HeapPiece* const> pieces, uint64_t from, uint64_t to) {
  auto piece = std::lower_bound(pieces.begin(), pieces.end(), from,
                                [](const HeapPiece* a, uint64_t at) { return a->limit() <= at; });
  uint64_t bytes = 0;
  for (; piece != pieces.end() && (*piece)->base < to; piece++) {
    bytes += resident_in(**piece, from, to);
  }
  return bytes;
}

const Part& Picture::part_of(const char* name) const {
  const auto found = std::find_if(parts.begin(), parts.end(), [name](const Part& part) {
    return std::strcmp(part.name, name) == 0;
  });
  if (found == parts.end()) throw std::logic_error(std::string("no part ") + name);
  return *found;
}
Part& Picture::part_of(const char* name) {
  return const_cast<Part&>(std::as_const(*this).part_of(name));
}

uint64_t Picture::group(PartGroup wanted) const {
  uint64_t bytes = 0;
  for (const Part& part : parts) bytes += part.group == wanted ? part.bytes : 0;
  return bytes;
}

Picture make_picture(const std::vector<Numbers>& copies, const std::vector<MappedArea>& areas,
                     uint64_t page_table_bytes) {
  Picture picture;
  picture.parts = all_parts();
  picture.survivors = all_survivors();
  picture.page_table_bytes = page_table_bytes;
  Painter painter(picture);
  std::vector<const HeapPiece*> pieces;
  picture.is_resident = !areas.empty();
  for (const Numbers& numbers : copies) {
    picture.is_resident = picture.is_resident && numbers.notes.are_pages_known;
    picture.guards += numbers.get(core::StatisticId::space_guards);
    picture.burst_bytes += numbers.get(core::StatisticId::space_burst_bytes);
    picture.list_excess_bytes += numbers.notes.list_excess_bytes;
    painter.begin_copy(numbers.notes.pass_ms);
    for (const HeapPiece& piece : numbers.notes.pieces) {
      painter.add_piece(piece);
      pieces.push_back(&piece);
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const HeapPiece* a, const HeapPiece* b) { return a->base < b->base; });
  if (picture.is_resident) painter.add_areas(areas, pieces);
  painter.end();
  return picture;
}

}  // namespace talus::tool
