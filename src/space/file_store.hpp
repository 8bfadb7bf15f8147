// SPDX-License-Identifier: MIT
// space/file_store: memory that lies in a file.
//
//   FileStore -> FilePiece -> FilePiece    the file is as long as all of them
//
// The file has no name, so it disappears with the process, and no other process has it. A slice
// gets room on the disk before it is handed out, so that a full disk means "no memory" and never a
// signal.
// Owns: the file, its reserved slices, and its descriptor. Invariants: a reserved slice can be
// written to. If the program closes the descriptor (or all that it finds), it loses only the rest
// of this file: a new file is begun then. The descriptor is checked before each use, so that
// another file is never touched. space/file_fork.hpp handles forks.
// Called on: any thread, under the store's lock. Must not know: what is in the file.
#ifndef TALUS_SPACE_FILE_STORE_HPP
#define TALUS_SPACE_FILE_STORE_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/bytes.hpp"
#include "os/text.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/file_pieces.hpp"
#include "space/provider.hpp"

namespace talus::core {

class FileStore {
 public:
  // Begins a store in a directory, with a bound (0: none). False: no file can be made there.
  bool open(const char* directory, uint64_t bytes_max, bool grows) noexcept {
    bytes_max_ = bytes_max;
    grows_ = grows;
    return learn_directory(directory) && open_file();
  }
  bool is_open() const noexcept { return directory_[0] != '\0'; }
  bool grows() const noexcept { return grows_; }

  // Addresses in the file; base 0: there is no more room or address space.
  ProvidedRange reserve(size_t bytes_min, size_t bytes_requested) noexcept {
    Held held{lock_};
    size_t bytes = bytes_requested;
    if (bytes_max_ != 0 && bytes > bytes_max_ - length_) bytes = bytes_max_ - length_;
    bytes = round_down(bytes, slice_bytes);
    if (bytes < bytes_min || !is_usable()) return {};
    const uint64_t length_max = os::System::length_max();
    if (length_max < length_ + bytes_min) return {};
    if (length_max < length_ + bytes) bytes = bytes_min;
    ProvidedRange range = reserve_exactly(bytes);
    if (range.base == 0 && bytes > bytes_min) range = reserve_exactly(bytes_min);
    return range;
  }

  // As PageProvider says.
  bool commit(uintptr_t base, size_t bytes, size_t room_bytes) noexcept {
    Held held{lock_};
    FilePiece* piece = piece_of(base);
    if (piece == nullptr) return false;
    const size_t first = piece->index_of(base);
    const SliceRun needed = {first, first + bytes / slice_bytes};
    if (piece->reserved.next(needed.from, needed.to, false) == needed.to) return true;
    size_t step = reserved_bytes_ >> file_step_shift;
    if (step < file_step_bytes_min) step = file_step_bytes_min;
    if (step > file_step_bytes_max) step = file_step_bytes_max;
    if (step < bytes) step = bytes;
    if (step > room_bytes) step = room_bytes;
    const SliceRun requested = {first, first + step / slice_bytes};
    const auto reserve_run = [&](SliceRun run) noexcept { return reserve_slices(*piece, run); };
    return try_each_run(piece->reserved, false, requested, reserve_run) ||
           try_each_run(piece->reserved, false, needed, reserve_run);
  }
  bool purge(uintptr_t base, size_t bytes) noexcept {
    Held held{lock_};
    FilePiece* piece = piece_of(base);
    if (piece == nullptr || !is_usable()) return false;
    const size_t first = piece->index_of(base);
    const SliceRun all = {first, first + bytes / slice_bytes};
    bool is_done = true;
    os::System::announce(reinterpret_cast<void*>(base), bytes);
    for_each_run(piece->reserved, true, all,
                 [&](SliceRun run) noexcept { is_done &= give_slices_back(*piece, run); });
    return is_done;
  }
  // Removes everything: addresses, file, descriptor. None of it may be in use.
  void close() noexcept {
    Held held{lock_};
    while (FilePiece* piece = pieces_) {
      pieces_ = piece->next;
      os::System::unmap(piece->mapped, piece->mapped_bytes);
      os::System::unmap(piece, piece->own_bytes);
    }
    close_file();
    directory_[0] = '\0';
    has_lost_ = false;
    length_ = reserved_bytes_ = 0;
  }
  size_t reserved_bytes() noexcept {
    Held held{lock_};
    return reserved_bytes_;
  }

 private:
  friend class FileFork;
  friend class FileStores;

  bool learn_directory(const char* directory) noexcept {
    TextBuffer<sizeof directory_> path;
    if (directory[0] != '/') {
      char current[sizeof directory_];
      if (!os::System::current_directory(current, sizeof current)) return false;
      path.put(current).put("/");
    }
    path.put(directory);
    if (path.length() + name_bytes_max >= sizeof directory_) return false;
    copy_bytes(directory_, path.data(), path.length());
    directory_[path.length()] = '\0';
    return true;
  }

  // Makes a new file for future reservations. False: it cannot be made.
  bool open_file() noexcept {
    long file = os::System::open_unnamed_in(directory_);
    for (uint64_t attempt = 0; file < 0 && attempt < 16; attempt++) {
      TextBuffer<sizeof directory_> path;
      path.put(directory_).put("/talus-");
      const uint64_t seed = os::System::now_ns() + reinterpret_cast<uintptr_t>(this) + attempt;
      path.put_number(mix_bits(seed));
      file = os::System::open_unlinked(path.data());
    }
    if (file < 0) return false;
    file = os::System::move_up(file);
    if (os::System::length_max() < length_ || !os::System::identify(file, identity_) ||
        !os::System::set_length(file, length_)) {
      os::System::close_file(file);
      return false;
    }
    file_ = file;
    return true;
  }
  void close_file() noexcept {
    if (is_intact()) os::System::close_file(file_);
    file_ = none;
  }
  // Does the descriptor still name the file?
  bool is_intact() const noexcept {
    os::FileIdentity now;
    return file_ != none && os::System::identify(file_, now) && now == identity_;
  }
  // True: there is a file to reserve from. Makes a new one if the descriptor was lost.
  bool is_usable() noexcept {
    if (is_intact()) return true;
    lose_file();
    return directory_[0] != '\0' && open_file();
  }
  // The contents of the lost file stay mapped, and do not belong to the next file.
  void lose_file() noexcept {
    file_ = none;
    for (FilePiece* piece = pieces_; piece != nullptr; piece = piece->next) {
      if (piece->unshared.next(0, piece->slices, false) != piece->slices) has_lost_ = true;
      piece->unshared.set(0, piece->slices, true);
    }
  }

  FilePiece* piece_of(uintptr_t address) noexcept {
    for (FilePiece* piece = pieces_; piece != nullptr; piece = piece->next) {
      if (address - piece->base < piece->slices * slice_bytes) return piece;
    }
    return nullptr;
  }

  ProvidedRange reserve_exactly(size_t bytes) noexcept {
    // A slice without access on both sides: no other range is a neighbour.
    const size_t around = bytes + 2 * arena_alignment;
    auto* wide = static_cast<char*>(os::reserve_pages(around));
    if (wide == nullptr) return {};
    const uintptr_t start = reinterpret_cast<uintptr_t>(wide);
    const uintptr_t base = round_up(start + slice_bytes, arena_alignment);
    const uintptr_t end = base + bytes + slice_bytes;
    const uint64_t offset = length_;
    FilePiece* piece = make_piece(base, bytes / slice_bytes, offset);
    const bool is_there =
        piece != nullptr && os::System::set_length(file_, offset + bytes) &&
        os::System::map_file(piece->at(0), bytes, file_, offset, os::FileSharing::shared);
    if (!is_there) {
      os::System::unmap(wide, around);
      if (piece != nullptr) os::System::unmap(piece, piece->own_bytes);
      return {};
    }
    piece->mapped = wide;
    piece->mapped_bytes = end - start;
    if (end < start + around) {
      os::System::unmap(reinterpret_cast<void*>(end), start + around - end);
    }
    length_ = offset + bytes;
    piece->next = pieces_;
    pieces_ = piece;
    if (!grows_ && !reserve_slices(*piece, piece->all())) return {};
    return ProvidedRange{base, bytes};
  }

  bool reserve_slices(FilePiece& piece, SliceRun run) noexcept {
    if (!is_usable()) return false;
    if (!os::System::reserve_room(file_, piece.offset_of(run.from), run.bytes())) return false;
    if (!map_unshared(piece, run)) return false;
    piece.reserved.set(run.from, run.to, true);
    reserved_bytes_ += run.bytes();
    return true;
  }
  // False: the slices may still have contents, so they stay reserved, and will be purged again.
  bool give_slices_back(FilePiece& piece, SliceRun run) noexcept {
    if (holes_ == os::Verdict::broken || !map_unshared(piece, run)) return false;
    const bool is_proof = holes_ == os::Verdict::unknown;
    volatile char& first = *static_cast<char*>(piece.at(run.from));
    if (is_proof) first = 1;
    const uint64_t offset = piece.offset_of(run.from);
    if (!os::System::give_room_back(file_, offset, run.bytes())) return false;
    if (is_proof) prove_hole(first, offset);
    if (holes_ == os::Verdict::broken) return false;
    piece.reserved.set(run.from, run.to, false);
    reserved_bytes_ -= run.bytes();
    return holes_ == os::Verdict::holds;
  }
  // Checks the store's first hole; a page of it needs room once more.
  void prove_hole(const volatile char& first, uint64_t offset) noexcept {
    const size_t page_bytes = os::page_bytes();
    if (!os::System::reserve_room(file_, offset, page_bytes)) return;
    holes_ = first == 0 ? os::Verdict::holds : os::Verdict::broken;
    os::System::give_room_back(file_, offset, page_bytes);
  }
  // Memory of the process's own, or of a lost file, is freed with its mapping.
  bool map_unshared(FilePiece& piece, SliceRun run) noexcept {
    return try_each_run(piece.unshared, true, run, [&](SliceRun part) noexcept {
      return map_slices(piece, part, os::FileSharing::shared);
    });
  }
  bool map_slices(FilePiece& piece, SliceRun run, os::FileSharing sharing) noexcept {
    if (!os::System::map_file(piece.at(run.from), run.bytes(), file_, piece.offset_of(run.from),
                              sharing)) {
      return false;
    }
    if (sharing == os::FileSharing::shared) piece.unshared.set(run.from, run.to, false);
    return true;
  }

  static constexpr long none = -1;
  static constexpr size_t name_bytes_max = 32;

  FileStoreLock lock_;
  bool grows_ = false;
  bool has_lost_ = false;  // unshared slices may be shared parts of a lost file
  long file_ = 0;          // zero-initialised like all members; not used while the store is closed
  os::Verdict holes_ = os::Verdict::unknown;  // do they read as zero?
  os::FileIdentity identity_;
  uint64_t bytes_max_ = 0;
  uint64_t length_ = 0;
  size_t reserved_bytes_ = 0;
  FilePiece* pieces_ = nullptr;
  FileStore* next_ = nullptr;  // in the list of all stores; under the lock of the list
  char directory_[2 * option_text_bytes_max] = {};
};

}  // namespace talus::core

#endif  // TALUS_SPACE_FILE_STORE_HPP
