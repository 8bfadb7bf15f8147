// SPDX-License-Identifier: MIT
// space/file_pieces: which granules of the memory that lies in a file have room on its disk.
//
//   FilePiece | addresses, and where they lie in the file | bits: reserved, strange, parted |
//
// Owns: the layout. A granule is strange when what is mapped there is no shared part of the file as
// it is now: a fork made it the process's own, or the file was lost. Its contents are memory of the
// kernel's until it is free again. Called on: under the lock of the store whose pieces they are.
#ifndef TALUS_SPACE_FILE_PIECES_HPP
#define TALUS_SPACE_FILE_PIECES_HPP

#include <new>

#include "os/os.hpp"

namespace talus {

// Granules of a piece that follow each other.
struct GranuleRun {
  size_t from = 0;
  size_t to = 0;

  size_t bytes() const noexcept { return (to - from) * granule_bytes; }
};

struct FilePiece {
  FilePiece* next = nullptr;
  uintptr_t base = 0;
  size_t granules = 0;
  uint64_t offset = 0;
  // A bit for each granule.
  BitRow reserved;
  BitRow strange;
  BitRow parted;           // between the two sides of a fork: became the process's own for it
  size_t own_bytes = 0;    // of the memory that holds this
  void* mapped = nullptr;  // with what lies around it, which nobody may touch
  size_t mapped_bytes = 0;

  GranuleRun all() const noexcept { return {0, granules}; }
  void* at(size_t index) const noexcept {
    return reinterpret_cast<void*>(base + index * granule_bytes);
  }
  uint64_t offset_of(size_t index) const noexcept { return offset + index * granule_bytes; }
  size_t index_of(uintptr_t address) const noexcept { return (address - base) / granule_bytes; }
};

// A piece over these addresses, whose memory comes from the kernel; null: it has none.
inline FilePiece* make_piece(uintptr_t base, size_t granules, uint64_t offset) noexcept {
  const size_t row = BitRow::bytes_for(granules);
  const size_t bytes = round_up(sizeof(FilePiece) + 3 * row, os::page_bytes());
  void* memory = os::map_pages(nullptr, bytes);
  if (memory == nullptr) return nullptr;
  auto* words = reinterpret_cast<uint64_t*>(static_cast<char*>(memory) + sizeof(FilePiece));
  const size_t row_words = row / sizeof(uint64_t);
  auto* piece = new (memory) FilePiece{};
  piece->base = base;
  piece->granules = granules;
  piece->offset = offset;
  piece->reserved = BitRow{words};
  piece->strange = BitRow{words + row_words};
  piece->parted = BitRow{words + 2 * row_words};
  piece->own_bytes = bytes;
  return piece;
}

// Calls visit(run) for each run of granules whose bit has this value; false ends it. Returns
// whether it came to the end. A visit may change the bits of its run.
template <typename Visit>
bool try_each_run(const BitRow& row, bool value, GranuleRun within, Visit visit) noexcept {
  while (within.from < within.to) {
    const size_t from = row.next(within.from, within.to, value);
    const size_t end = row.next(from, within.to, !value);
    if (from != end && !visit(GranuleRun{from, end})) return false;
    within.from = end;
  }
  return true;
}
template <typename Visit>
void for_each_run(const BitRow& row, bool value, GranuleRun within, Visit visit) noexcept {
  try_each_run(row, value, within, [&visit](GranuleRun run) noexcept {
    visit(run);
    return true;
  });
}

}  // namespace talus

#endif  // TALUS_SPACE_FILE_PIECES_HPP
