// SPDX-License-Identifier: MIT
// space/file_fork: what becomes of memory in files when the process forks.
//
//   before     the parent maps its files anew, as private copies
//   fork       the kernel copies: what either side writes from here on is its own
//   child      writes what it finds to a file of its own, and maps that; tells the parent
//   parent     waits for that, then writes what changed meanwhile back and maps its file again
//
// A mapping of a file that both sides share would let the child write into the parent's heap, which
// libc does before any handler runs there (it makes the locks of streams anew). Private mappings do
// not. A parent with other threads cannot go back at once: one might write between the look and the
// new mapping. It keeps its copies ("strange" granules) until they are free, and then uses the
// file again. Where the child can make no file, its memory is the kernel's.
// Owns: the list of stores, and the pipe by which the parent waits. Invariants: the parent's file
// does not change until the child has read it; the granules around the stack that this runs on are
// never exchanged. Called on: the forking thread; all locks of address space are held.
#ifndef TALUS_SPACE_FILE_FORK_HPP
#define TALUS_SPACE_FILE_FORK_HPP

#include "space/file_store.hpp"

namespace talus {

// One store's part of a fork.
class FileFork {
 public:
  explicit FileFork(FileStore& store) noexcept : store_{store} {}

  void before() noexcept {
    store_.lock_.take();
    if (!store_.is_intact()) return;
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      const auto is_shared = [piece](size_t i) noexcept { return !piece->strange.has(i); };
      for_each_run(0, piece->granules, is_shared, [&](size_t from, size_t to) noexcept {
        if (store_.map_granules(*piece, from, to, os::FileSharing::own_copy)) {
          piece->parted.set(from, to, true);
        }
        return true;
      });
    }
  }

  // `may_return`: the child has read the file, and nobody else writes to this memory.
  void in_parent(bool has_waited, bool may_return) noexcept {
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      const auto is_parted = [piece](size_t i) noexcept { return piece->parted.has(i); };
      for_each_run(0, piece->granules, is_parted, [&](size_t from, size_t to) noexcept {
        return_granules(*piece, from, to, may_return);
        return true;
      });
      piece->parted.set(0, piece->granules, false);
    }
    // Nobody knows when the child has read the file: it stays as it is, and a new one is begun.
    if (!has_waited) store_.close_file();
    store_.lock_.give();
  }

  void in_child() noexcept {
    store_.lock_.reset_in_child();
    store_.close_file();
    const bool has_file = store_.open_file();
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      piece->strange.set(0, piece->granules, true);
      piece->parted.set(0, piece->granules, false);
      const auto is_reserved = [piece](size_t i) noexcept { return piece->reserved.has(i); };
      const auto is_free = [piece](size_t i) noexcept { return !piece->reserved.has(i); };
      for_each_run(0, piece->granules, is_reserved, [&](size_t from, size_t to) noexcept {
        for (; from < to; from += copy_granules) {
          take_over(*piece, from, to - from < copy_granules ? to : from + copy_granules, has_file);
        }
        return true;
      });
      // What is mapped of the parent's file would keep that on the disk.
      for_each_run(0, piece->granules, is_free, [&](size_t from, size_t to) noexcept {
        if (has_file) store_.map_granules(*piece, from, to, os::FileSharing::shared);
        return true;
      });
    }
  }

 private:
  static constexpr size_t copy_granules = file_copy_bytes / granule_bytes;

  // Do these granules hold the stack that this runs on?
  static bool is_near_stack(const FilePiece& piece, size_t from, size_t to) noexcept {
    const char here = 0;
    const uintptr_t stack = reinterpret_cast<uintptr_t>(&here);
    return stack + granule_bytes >= reinterpret_cast<uintptr_t>(piece.at(from)) &&
           stack - granule_bytes < reinterpret_cast<uintptr_t>(piece.at(to));
  }

  // Parent: the granules are the file's again, or stay strange where that cannot be.
  void return_granules(FilePiece& piece, size_t from, size_t to, bool may_return) noexcept {
    piece.strange.set(from, to, true);
    const auto is_free = [&piece](size_t i) noexcept { return !piece.reserved.has(i); };
    const auto is_reserved = [&piece](size_t i) noexcept { return piece.reserved.has(i); };
    for_each_run(from, to, is_free, [&](size_t first, size_t end) noexcept {
      store_.map_granules(piece, first, end, os::FileSharing::shared);
      return true;
    });
    if (!may_return) return;
    for_each_run(from, to, is_reserved, [&](size_t first, size_t end) noexcept {
      for (; first < end; first += copy_granules) {
        const size_t last = end - first < copy_granules ? end : first + copy_granules;
        if (is_near_stack(piece, first, last) || !write_back(piece, first, last)) continue;
        store_.map_granules(piece, first, last, os::FileSharing::shared);
      }
      return true;
    });
  }
  // What differs from the file becomes the file's. False: the file cannot be mapped again.
  bool write_back(FilePiece& piece, size_t from, size_t to) noexcept {
    const size_t bytes = (to - from) * granule_bytes;
    char* file = os::System::map_file_again(bytes, store_.file_, piece.offset_of(from));
    if (file == nullptr) return false;
    const char* own = static_cast<const char*>(piece.at(from));
    const size_t page = os::page_bytes();
    for (size_t at = 0; at < bytes; at += page) {
      if (!is_same_page(own + at, file + at, page)) copy_bytes(file + at, own + at, page);
    }
    os::System::unmap(file, bytes);
    return true;
  }
  static bool is_same_page(const char* one, const char* other, size_t bytes) noexcept {
    const auto* a = reinterpret_cast<const uint64_t*>(one);
    const auto* b = reinterpret_cast<const uint64_t*>(other);
    uint64_t differing = 0;
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) differing |= a[i] ^ b[i];
    return differing == 0;
  }

  // Child: the granules are its own afterwards, in its file or in memory.
  void take_over(FilePiece& piece, size_t from, size_t to, bool has_file) noexcept {
    const size_t bytes = (to - from) * granule_bytes;
    if (is_near_stack(piece, from, to)) return touch(piece.at(from), bytes);
    const uint64_t offset = piece.offset_of(from);
    if (has_file && os::System::reserve_room(store_.file_, offset, bytes) &&
        os::System::write_at(store_.file_, piece.at(from), bytes, offset) &&
        store_.map_granules(piece, from, to, os::FileSharing::shared)) {
      return;
    }
    void* copy = os::map_pages(nullptr, bytes);
    if (copy != nullptr) {
      copy_bytes(copy, piece.at(from), bytes);
      if (os::System::move_over(copy, piece.at(from), bytes)) return;
      os::System::unmap(copy, bytes);
    }
    touch(piece.at(from), bytes);
  }
  // A page of a private mapping that was written to is the process's own.
  static void touch(void* at, size_t bytes) noexcept {
    auto* place = static_cast<volatile char*>(at);
    const size_t page = os::page_bytes();
    for (size_t offset = 0; offset < bytes; offset += page) place[offset] = place[offset];
  }

  FileStore& store_;
};

// All stores of the process.
class FileStores {
 public:
  void add(FileStore& store) noexcept {
    Locked held{lock_};
    store.next_ = first_;
    first_ = &store;
  }
  void remove(FileStore& store) noexcept {
    Locked held{lock_};
    FileStore** link = &first_;
    while (*link != nullptr && *link != &store) link = &(*link)->next_;
    if (*link != nullptr) *link = store.next_;
  }

  void before_fork() noexcept {
    lock_.take();
    if (first_ == nullptr) return;
    has_pipe_ = os::System::make_pipe(pipe_);
    for_each([](FileStore& store) noexcept { FileFork{store}.before(); });
  }
  // `is_alone`: the calling thread is the only one of the process, but for Talus' own.
  template <typename IsAlone>
  void after_fork_in_parent(IsAlone is_alone) noexcept {
    if (first_ != nullptr) {
      if (has_pipe_) {
        os::System::close(pipe_[1]);
        os::System::wait_for_letter(pipe_[0]);
        os::System::close(pipe_[0]);
      }
      // The handler of a signal might write between the look and the new mapping.
      const uint64_t mask = os::System::block_signals();
      const bool may_return = has_pipe_ && is_alone();
      for_each([this, may_return](FileStore& store) noexcept {
        FileFork{store}.in_parent(has_pipe_, may_return);
      });
      os::System::restore_signals(mask);
    }
    lock_.give();
  }
  void after_fork_in_child() noexcept {
    lock_.reset_in_child();
    if (first_ == nullptr) return;
    const uint64_t mask = os::System::block_signals();
    for_each([](FileStore& store) noexcept { FileFork{store}.in_child(); });
    os::System::restore_signals(mask);
    if (!has_pipe_) return;
    os::System::send_letter(pipe_[1]);  // the parent goes on, whoever else has this end
    os::System::close(pipe_[0]);
    os::System::close(pipe_[1]);
  }

 private:
  template <typename Visit>
  void for_each(Visit visit) noexcept {
    for (FileStore* store = first_; store != nullptr; store = store->next_) visit(*store);
  }

  Lock lock_;
  FileStore* first_ = nullptr;
  bool has_pipe_ = false;
  int pipe_[2] = {};
};
inline FileStores file_stores;

}  // namespace talus

#endif  // TALUS_SPACE_FILE_FORK_HPP
