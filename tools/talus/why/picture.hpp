// SPDX-License-Identifier: MIT
//
// Owns: where the resident memory of a process is: parts that sum to all of it.
// Invariant: parts are resident bytes of one look. Of a core file they are bytes in use, because
// its pages are not known.
// Must not know: how the picture is shown.

#ifndef TALUS_TOOLS_TALUS_WHY_PICTURE_HPP
#define TALUS_TOOLS_TALUS_WHY_PICTURE_HPP

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/mapped_areas.hpp"
#include "observe/numbers.hpp"

namespace talus::tool {

enum class PartGroup : uint8_t { in_use, free, own, others };
constexpr size_t part_group_count = 4;
struct GroupWords {
  const char* name;   // in JSON
  const char* label;  // for people
};
constexpr GroupWords group_words[part_group_count] = {
    {"in_use", "in use"}, {"free", "free"}, {"own", "Talus' own"}, {"not_ours", "not Talus'"}};

constexpr uint64_t huge_page_bytes = uint64_t{2} << 20;

struct Part {
  const char* name;   // in JSON
  const char* label;  // for people
  PartGroup group;
  uint64_t bytes = 0;
};

// Slabs of one class.
struct ClassPicture {
  static constexpr size_t bins = 8;
  uint64_t block_bytes = 0, slabs = 0;
  uint64_t resident = 0, live = 0;
  uint64_t pinned = 0;                     // free bytes on pages that live blocks share
  uint64_t free_pages = 0;                 // pages without a live block
  std::optional<uint64_t> age_ms;          // half of its free bytes are in slabs at least as old
  std::array<uint64_t, bins> occupancy{};  // slabs by the share of live blocks: up to 1/8, ...
};

// Slabs by how many blocks are live.
struct SurvivorPicture {
  const char* label;
  uint64_t least, most;  // live blocks
  uint64_t slabs = 0, resident = 0, free = 0;
};

// Slabs by the time since a block was last taken from them, as far as the background thread ran.
struct AgePicture {
  const char* label;
  uint64_t least_ms, most_ms;
  uint64_t slabs = 0, resident = 0, free = 0;
};

struct Picture {
  bool is_resident = false;  // false: pages are not known
  uint64_t total = 0;
  std::vector<Part> parts;
  // Pages of zeros that were only read, which the kernel leaves out of Rss, and what went away
  // meanwhile. The parts sum to the total and this.
  uint64_t beyond_total = 0;
  std::vector<ClassPicture> classes;  // by pinned and free_pages, largest first
  std::vector<SurvivorPicture> survivors;
  std::vector<AgePicture> ages;                  // empty: the process does not tell
  std::vector<MappedArea> largest_others;        // resident_bytes without what is Talus'
  uint64_t huge_bytes = 0, huge_free_bytes = 0;  // of Talus, and of these without a live block
  uint64_t huge_unused_bytes = 0;                // of these in slabs and untouched ranges
  uint64_t swapped_bytes = 0, page_table_bytes = 0, guards = 0;
  // What a purge of all free memory gives: pages without a live block, kept blocks, free ranges.
  uint64_t purgeable_bytes = 0;
  uint64_t burst_bytes = 0;        // of free memory, what stays because bursts return
  uint64_t list_excess_bytes = 0;  // in lists, beyond what preset=small allows
  // Areas of sampled blocks, resident or not; of their bytes, what no block has.
  uint64_t sample_areas = 0, sample_area_bytes = 0, samples = 0, sample_room_bytes = 0;

  const Part& part_of(const char* name) const;
  Part& part_of(const char* name);
  uint64_t part(const char* name) const { return part_of(name).bytes; }
  uint64_t group(PartGroup group) const;
};

// Resident bytes from one address to another, of pieces in order.
uint64_t resident_in_pieces(std::span<const HeapPiece* const> pieces, uint64_t from, uint64_t to);

// `areas`: empty for a core file.
Picture make_picture(const std::vector<Numbers>& copies, const std::vector<MappedArea>& areas,
                     uint64_t page_table_bytes);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_WHY_PICTURE_HPP
