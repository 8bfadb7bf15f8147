// SPDX-License-Identifier: MIT
// space/file_pieces: which slices of the memory in a file have room on its disk.
//
//   FilePiece | addresses, and where they lie in the file | bits: reserved, unshared, copied |
//
// Owns: the layout. A slice is unshared when its mapping is not a shared part of the present file:
// a fork made it the process's own, or the file was lost. Its contents are memory of the kernel's
// until it is free again. Called on: under the lock of the store that owns the pieces.
#ifndef TALUS_SPACE_FILE_PIECES_HPP
#define TALUS_SPACE_FILE_PIECES_HPP

#include <new>

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

// Consecutive slices of a piece.
struct SliceRun {
  size_t from = 0;
  size_t to = 0;

  size_t bytes() const noexcept { return (to - from) * slice_bytes; }
};

struct FilePiece {
  FilePiece* next = nullptr;
  uintptr_t base = 0;
  size_t slices = 0;
  uint64_t offset = 0;
  // A bit for each slice.
  BitRow reserved;
  BitRow unshared;
  BitRow copied;           // during a fork: became the process's own for it
  size_t own_bytes = 0;    // of the memory that holds this piece
  void* mapped = nullptr;  // with its inaccessible surroundings
  size_t mapped_bytes = 0;

  SliceRun all() const noexcept { return {0, slices}; }
  void* at(size_t index) const noexcept {
    return reinterpret_cast<void*>(base + index * slice_bytes);
  }
  uint64_t offset_of(size_t index) const noexcept { return offset + index * slice_bytes; }
  size_t index_of(uintptr_t address) const noexcept { return (address - base) / slice_bytes; }
};

// A piece over these addresses, whose own memory comes from the kernel; null: there is none.
inline FilePiece* make_piece(uintptr_t base, size_t slices, uint64_t offset) noexcept {
  const size_t row = BitRow::bytes_for(slices);
  const size_t bytes = round_up(sizeof(FilePiece) + 3 * row, os::page_bytes());
  void* memory = os::map_pages(nullptr, bytes);
  if (memory == nullptr) return nullptr;
  auto* words = reinterpret_cast<uint64_t*>(static_cast<char*>(memory) + sizeof(FilePiece));
  const size_t row_words = row / sizeof(uint64_t);
  auto* piece = new (memory) FilePiece{};
  piece->base = base;
  piece->slices = slices;
  piece->offset = offset;
  piece->reserved = BitRow{words};
  piece->unshared = BitRow{words + row_words};
  piece->copied = BitRow{words + 2 * row_words};
  piece->own_bytes = bytes;
  return piece;
}

// Calls visit(run) for each run of slices whose bit has this value; false ends it. Returns whether
// it reached the end. A visit may change the bits of its run.
template <typename Visit>
bool try_each_run(const BitRow& row, bool value, SliceRun within, Visit visit) noexcept {
  while (within.from < within.to) {
    const size_t from = row.next(within.from, within.to, value);
    const size_t end = row.next(from, within.to, !value);
    if (from != end && !visit(SliceRun{from, end})) return false;
    within.from = end;
  }
  return true;
}
template <typename Visit>
void for_each_run(const BitRow& row, bool value, SliceRun within, Visit visit) noexcept {
  try_each_run(row, value, within, [&visit](SliceRun run) noexcept {
    visit(run);
    return true;
  });
}

}  // namespace talus::core

#endif  // TALUS_SPACE_FILE_PIECES_HPP
