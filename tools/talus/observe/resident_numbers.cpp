// SPDX-License-Identifier: MIT
//
// Owns: the walk over arenas, piece by piece: a slab, a large block, a free range.
// Invariant: the walk always advances. A piece never reaches beyond its arena.
// Must not know: how numbers are printed.

#include "observe/resident_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "observe/arena_runs.hpp"
#include "observe/chain.hpp"
#include "observe/sample_areas.hpp"

namespace talus::tool {
namespace {

using Id = core::StatisticId;

constexpr size_t chunks_max = size_t{1} << 20;
// How many slices one step of the walk reads: 256 MiB.
constexpr size_t slices_at_a_time = 4096;

struct Sums {
  uint64_t taken_small = 0, free_in_slabs = 0, live_large = 0, kept_large = 0, retained = 0;
  uint64_t metadata = 0, rest = 0;
  uint64_t total() const {
    return taken_small + free_in_slabs + live_large + kept_large + retained + metadata + rest;
  }
};

// The state of a range and the age of a slab are younger than the rest.
std::vector<const char*> range_fields(const Layout& layout);
std::vector<const char*> slab_fields(const Layout& layout);

class ResidentReader {
 public:
  ResidentReader(Look& look, const Layout& layout, const SizeClasses& classes,
                 PageMapView& page_map, PagePresence& presence, PieceNotes* notes)
      : look_(look),
        layout_(layout),
        classes_(classes),
        map_(page_map),
        pages_(presence),
        notes_(notes),
        slab_(layout, "slab", slab_fields(layout)),
        large_(layout, "large", {"base", "slices", "usable_bytes", "state", "front_bytes"}),
        range_(layout, "range", range_fields(layout)),
        areas_(look, layout, classes),
        free_bits_(layout.field("slab.free_bits").value) {}

  // False: the kernel does not tell.
  bool read() {
    if (notes_ != nullptr && layout_.has("slab.served_at")) read_clock();
    runs_ = read_arena_runs(look_, layout_);
    for (const ArenaRun& run : runs_) walk(run);
    read_metadata();
    return is_known_;
  }
  const Sums& sums() const { return sums_; }

 private:
  void walk(const ArenaRun& run);
  void read_descriptors(const PageMapView::Rows& rows);
  // Adds what begins at this slice. Returns its bytes.
  uint64_t add_piece(uint64_t at, uint64_t end, Entry entry, uint64_t descriptor);
  uint64_t add_slab(uint64_t at, uint64_t bytes, const SizeClasses::Row& row, const char* copy);
  void add_large(uint64_t at, uint64_t bytes, const char* copy);
  void read_clock();
  std::optional<uint64_t> age_of(const char* slab) const;
  uint64_t add_range(uint64_t at, uint64_t bytes, const char* copy);
  uint64_t add_area(uint64_t bytes, const SampleArea& area);
  // Notes a piece without blocks, at which pages_ has looked.
  void note_plain(uint64_t base, uint64_t bytes, PieceUse use);
  void add_metadata(uint64_t base, uint64_t bytes);
  HeapPiece& note(uint64_t base, uint64_t bytes, PieceUse use) {
    HeapPiece& piece = notes_->pieces.emplace_back();
    piece.base = base;
    piece.bytes = bytes;
    piece.use = use;
    return piece;
  }
  void read_metadata();
  void look_at(uint64_t base, uint64_t bytes) {
    if (!pages_.look(base, bytes)) is_known_ = false;
  }
  uint64_t resident(uint64_t base, uint64_t bytes) {
    look_at(base, bytes);
    return is_known_ ? pages_.bytes_in(base, base + bytes) : 0;
  }
  bool is_large(Entry entry) const {
    return !entry.is_slab() && (entry.bits == layout_.constant("entry.large") ||
                                entry.tag() >= layout_.constant("heap.count_max"));
  }

  Look& look_;
  const Layout& layout_;
  const SizeClasses& classes_;
  PageMapView& map_;
  PagePresence& pages_;
  PieceNotes* notes_;  // null: none are wanted
  View slab_, large_, range_;
  SampleAreas areas_;
  uint64_t free_bits_;
  std::optional<uint16_t> clock_;  // of decay passes, as in the process
  std::vector<ArenaRun> runs_;
  std::unordered_map<uint64_t, const char*> descriptors_;
  Sums sums_;
  bool is_known_ = true;
};

void ResidentReader::read_clock() {
  uint16_t clock = 0;
  std::memcpy(&clock, look_.read(layout_.root("decay_clock"), sizeof clock), sizeof clock);
  clock_ = clock;
  const View options(layout_, "options", {"decay_ms"});
  const uint64_t decay_ms = options.get(options.read(look_, layout_.root("options")), 0);
  notes_->pass_ms =
      std::max(decay_ms / layout_.constant("decay.turns"), layout_.constant("decay.ms_min"));
}

std::optional<uint64_t> ResidentReader::age_of(const char* slab) const {
  if (!clock_) return std::nullopt;
  return static_cast<uint16_t>(*clock_ - slab_.get(slab, 3));  // both wrap
}

void ResidentReader::read_descriptors(const PageMapView::Rows& rows) {
  std::vector<std::pair<uint64_t, size_t>> pieces;
  std::vector<uint64_t> addresses;
  uint64_t last = 0;
  for (size_t i = 0; i < rows.entries.size(); i++) {
    const uint64_t descriptor = rows.descriptors[i];
    const Entry entry{rows.entries[i]};
    if (descriptor == 0 || descriptor == last || descriptors_.count(descriptor) != 0) continue;
    if (entry.bits == layout_.constant("entry.special")) continue;
    last = descriptor;
    addresses.push_back(descriptor);
    descriptors_[descriptor] = nullptr;
    if (entry.is_slab()) {
      if (entry.tag() >= classes_.rows.size()) throw Implausible("a slab without a class");
      const size_t bits = classes_.rows[entry.tag()].bitmap_words * sizeof(uint64_t);
      pieces.emplace_back(descriptor,
                          std::max<size_t>(slab_.first_byte() + slab_.bytes(), free_bits_ + bits));
    } else {
      const View& view = is_large(entry) ? large_ : range_;
      pieces.emplace_back(descriptor, view.first_byte() + view.bytes());
    }
  }
  if (pieces.empty()) return;
  const std::vector<const char*> copies = look_.read_scattered(pieces);
  for (size_t i = 0; i < copies.size(); i++) descriptors_[addresses[i]] = copies[i];
}

void ResidentReader::walk(const ArenaRun& run) {
  const uint64_t slice = map_.slice_bytes();
  for (uint64_t at = run.base; at < run.end && is_known_;) {
    const uint64_t first = at;
    const size_t slices =
        std::min<uint64_t>(slices_at_a_time, (run.end - first + slice - 1) / slice);
    const PageMapView::Rows rows = map_.rows_of(first, slices);
    look_at(first, slices * slice);
    descriptors_.clear();
    read_descriptors(rows);
    if (notes_ != nullptr) areas_.read(rows);
    // A piece that began here may end behind what was read.
    while (at < first + slices * slice && at < run.end) {
      const size_t index = (at - first) / slice;
      at += add_piece(at, run.end, Entry{rows.entries[index]}, rows.descriptors[index]);
    }
  }
}

uint64_t ResidentReader::add_piece(uint64_t at, uint64_t end, Entry entry, uint64_t descriptor) {
  const uint64_t slice = map_.slice_bytes();
  const auto found = descriptors_.find(descriptor);
  const char* const copy = found == descriptors_.end() ? nullptr : found->second;
  const auto within = [&](uint64_t slices) {
    if (slices > (end - at) / slice) throw Implausible("a range beyond its arena");
    return std::max<uint64_t>(slices, 1) * slice;
  };
  if (descriptor != 0 && copy != nullptr && entry.bits != layout_.constant("entry.special")) {
    const uint64_t first_block = entry.is_slab() ? slab_.get(copy + slab_.first_byte(), 0) : 0;
    if (first_block != 0 && first_block / slice * slice == at) {
      const SizeClasses::Row& row = classes_.rows.at(entry.tag());
      const uint64_t bytes = within(row.slab_slices);
      if (notes_ != nullptr && is_known_) {
        HeapPiece& piece = note(at, bytes, PieceUse::slab);
        piece.heap = entry.owner();
        look_at(at, bytes);
        piece.age_passes = age_of(copy + slab_.first_byte());
        fill_slab(piece, {row.block_bytes, row.block_count, copy + free_bits_, first_block - at},
                  notes_->waiting, pages_);
      }
      return add_slab(at, bytes, row, copy);
    }
    if (is_large(entry) && large_.get(copy + large_.first_byte(), 0) == at) {
      const uint64_t bytes = within(large_.get(copy + large_.first_byte(), 1));
      add_large(at, bytes, copy + large_.first_byte());
      return bytes;
    }
    if (entry.bits == 0 && range_.get(copy + range_.first_byte(), 0) == at) {
      const uint64_t bytes = within(range_.get(copy + range_.first_byte(), 1));
      return add_range(at, bytes, copy);
    }
  }
  if (const SampleArea* const area = areas_.at(at, descriptor)) {
    return add_area(within(area->slices), *area);
  }
  // Sampled blocks share such slices, and so do blocks of a region in a large block.
  const bool is_special = descriptor != 0 && entry.bits == layout_.constant("entry.special");
  (is_special ? sums_.live_large : sums_.rest) += resident(at, slice);
  note_plain(at, slice, PieceUse::other);
  return slice;
}

// Without notes, its slices count one by one.
uint64_t ResidentReader::add_area(uint64_t bytes, const SampleArea& area) {
  sums_.live_large += resident(area.base, bytes);
  if (!is_known_) return bytes;
  HeapPiece& piece = note(area.base, bytes, PieceUse::sample_area);
  fill_area(piece, area.blocks, areas_.unit_bytes(), pages_);
  return bytes;
}

uint64_t ResidentReader::add_range(uint64_t at, uint64_t bytes, const char* copy) {
  const bool is_clean = layout_.has("range.state") && range_.get(copy + range_.first_byte(), 2) ==
                                                          layout_.constant("range.clean");
  sums_.retained += resident(at, bytes);
  // Where no kernel can tell, a range that reads as zero has no pages.
  if (is_clean && pages_.is_assumed()) {
    if (notes_ != nullptr) note(at, bytes, PieceUse::untouched_range);
  } else {
    note_plain(at, bytes, is_clean ? PieceUse::untouched_range : PieceUse::free_range);
  }
  return bytes;
}

void ResidentReader::note_plain(uint64_t base, uint64_t bytes, PieceUse use) {
  if (notes_ != nullptr && is_known_) fill_plain(note(base, bytes, use), pages_);
}

uint64_t ResidentReader::add_slab(uint64_t at, uint64_t bytes, const SizeClasses::Row& row,
                                  const char* copy) {
  look_at(at, bytes);
  if (!is_known_) return bytes;
  const uint64_t resident = pages_.bytes_in(at, at + bytes);
  const uint64_t first_block = slab_.get(copy + slab_.first_byte(), 0);
  const uint64_t end = pages_.bytes_in(at, first_block) +
                       pages_.bytes_in(first_block + row.block_count * row.block_bytes, at + bytes);
  uint64_t free = 0;
  if (resident == bytes) {
    free = slab_.get(copy + slab_.first_byte(), 2) * row.block_bytes;
  } else if (resident != 0) {
    for (uint64_t word = 0; word < row.bitmap_words; word++) {
      uint64_t bits = 0;
      std::memcpy(&bits, copy + free_bits_ + word * sizeof bits, sizeof bits);
      while (bits != 0) {  // run by run
        const unsigned first = static_cast<unsigned>(std::countr_zero(bits));
        const unsigned length = static_cast<unsigned>(std::countr_one(bits >> first));
        const uint64_t from = first_block + (word * 64 + first) * row.block_bytes;
        free += pages_.bytes_in(from, from + length * row.block_bytes);
        bits &= length == 64 ? 0 : ~(((uint64_t{1} << length) - 1) << first);
      }
    }
  }
  free = std::min(free, resident - end);
  sums_.free_in_slabs += free;
  sums_.rest += end;
  sums_.taken_small += resident - end - free;
  return bytes;
}

void ResidentReader::add_large(uint64_t at, uint64_t bytes, const char* copy) {
  look_at(at, bytes);
  if (!is_known_) return;
  const bool is_kept = large_.get(copy, 3) == layout_.constant("large.kept");
  if (notes_ != nullptr) {
    HeapPiece& piece = note(at, bytes, is_kept ? PieceUse::kept_large : PieceUse::live_large);
    const uint64_t usable_from = large_.get(copy, 4);
    fill_large(piece, usable_from, is_kept ? 0 : usable_from + large_.get(copy, 2), pages_);
  }
  if (is_kept) {
    sums_.kept_large += pages_.bytes_in(at, at + bytes);
    return;
  }
  // A block has all of the page in which it begins.
  const uint64_t page = pages_.page_bytes(), front = large_.get(copy, 4);
  const uint64_t usable_end = front + large_.get(copy, 2);
  const uint64_t end = usable_end < bytes ? usable_end / page * page : bytes;
  const uint64_t from = front < end ? front / page * page : 0;
  sums_.rest += pages_.bytes_in(at, at + from) + pages_.bytes_in(at + end, at + bytes);
  sums_.live_large += pages_.bytes_in(at + from, at + end);
}

// Chunks, the page map, and the two large objects among the library's data.
void ResidentReader::read_metadata() {
  const View space(layout_, "space", {"chunks"});
  const View chunk(layout_, "chunk", {"next", "bytes", "is_in_arena"});
  uint64_t at = space.get(space.read(look_, layout_.root("space")), 0);
  for (Chain chain("a list of chunks", chunks_max); at != 0;) {
    chain.pass(at);
    const char* const copy = chunk.read(look_, at);
    if (chunk.get(copy, 1) > arena_bytes_max) throw Implausible("a chunk of metadata");
    const uint64_t bytes = resident(at, chunk.get(copy, 1));
    add_metadata(at, chunk.get(copy, 1));
    if (chunk.get(copy, 2) != 0) sums_.rest -= std::min(sums_.rest, bytes);
    at = chunk.get(copy, 0);
  }
  std::vector<uint64_t> roots;
  for (const ArenaRun& run : runs_) {
    for (uint64_t root = run.base >> 32; root <= (run.end - 1) >> 32; root++) {
      roots.push_back(std::max(root << 32, run.base));
    }
  }
  for (const MapPiece& piece : map_.pieces_of(roots)) {
    add_metadata(piece.base, piece.bytes);
  }
  const uint64_t page = pages_.page_bytes();
  for (const char* const name : {"page_map", "registry"}) {
    const uint64_t begin = layout_.root(name);
    const uint64_t bytes = layout_.constant(std::string(name) + ".bytes");
    const uint64_t from = (begin + page - 1) / page * page, to = (begin + bytes) / page * page;
    if (to > from) add_metadata(from, to - from);
  }
}

void ResidentReader::add_metadata(uint64_t base, uint64_t bytes) {
  sums_.metadata += resident(base, bytes);
  note_plain(base, bytes, PieceUse::metadata);
}

std::vector<const char*> range_fields(const Layout& layout) {
  if (layout.has("range.state")) return {"base", "slices", "state"};
  return {"base", "slices"};
}

std::vector<const char*> slab_fields(const Layout& layout) {
  if (layout.has("slab.served_at")) return {"base", "class_id", "free_count", "served_at"};
  return {"base", "class_id", "free_count"};
}

// The share of a resident sum that belongs to `bytes` of `all_bytes`.
uint64_t share_of(uint64_t resident, uint64_t bytes, uint64_t all_bytes) {
  if (bytes >= all_bytes) return all_bytes == 0 ? 0 : resident;
  const double part = static_cast<double>(bytes) / static_cast<double>(all_bytes);
  return std::min(resident, static_cast<uint64_t>(static_cast<double>(resident) * part));
}

}  // namespace

void read_resident(Look& look, const Layout& layout, const SizeClasses& classes,
                   PageMapView& page_map, PagePresence& presence, Numbers& numbers,
                   PieceNotes* notes) {
  if (!presence.is_known() && !presence.is_assumed()) return;
  presence.forget();
  if (notes != nullptr) std::sort(notes->waiting.begin(), notes->waiting.end());
  ResidentReader reader(look, layout, classes, page_map, presence, notes);
  if (!reader.read()) return;
  if (notes != nullptr) {
    settle_pieces(*notes);
    notes->are_pages_known = presence.is_known();
  }
  if (!presence.is_known()) return;
  const Sums& sums = reader.sums();
  const uint64_t listed_bytes = numbers.get(Id::heap_listed_bytes);
  const uint64_t remote_bytes = numbers.get(Id::heap_remote_bytes);
  const uint64_t out = numbers.get(Id::heap_live_small_bytes) + listed_bytes + remote_bytes;
  const uint64_t listed = share_of(sums.taken_small, listed_bytes, out);
  const uint64_t remote = share_of(sums.taken_small - listed, remote_bytes, out - listed_bytes);
  numbers[Id::resident_total_bytes] = sums.total();
  numbers[Id::resident_live_small_bytes] = sums.taken_small - listed - remote;
  numbers[Id::resident_live_large_bytes] = sums.live_large;
  numbers[Id::resident_listed_bytes] = listed;
  numbers[Id::resident_remote_bytes] = remote;
  numbers[Id::resident_free_bytes] = sums.free_in_slabs;
  numbers[Id::resident_kept_bytes] = sums.kept_large;
  numbers[Id::resident_retained_bytes] = sums.retained;
  numbers[Id::resident_metadata_bytes] = sums.metadata;
  numbers[Id::resident_rest_bytes] = sums.rest;
  if (const auto all = numbers[Id::process_resident_bytes]) {
    numbers[Id::resident_not_ours_bytes] = *all > sums.total() ? *all - sums.total() : 0;
  }
}

}  // namespace talus::tool
