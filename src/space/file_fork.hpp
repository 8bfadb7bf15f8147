// SPDX-License-Identifier: MIT
// space/file_fork: what happens to memory in files when the process forks.
//
//   before     the parent maps its files anew, as private copies
//   fork       the kernel copies: what either side writes from here on is its own
//   child      writes its contents to a file of its own, and maps that; tells the parent
//   parent     waits for that, then writes what changed meanwhile back and maps its file again
//
// A file mapping that both sides share would let the child write into the parent's heap. libc does
// so before any handler runs in the child (it makes the locks of streams anew). Private mappings
// prevent that. A parent with other threads cannot map its file again at once: another thread might
// write between the comparison and the new mapping. The parent keeps its copies ("unshared" slices)
// until they are free, and then uses the file again. Where the child cannot make a file, its memory
// comes from the kernel. Memory in a lost file cannot become a private mapping of it. A parent
// without other threads copies it before the fork; otherwise both sides share it until the child
// has copied it.
// Owns: the list of stores, and the pipe by which the parent waits. Invariants: the parent's file
// does not change until the child has read it. The slices around the stack that this code runs on
// are never exchanged. Called on: the forking thread; all locks of address space are held.
#ifndef TALUS_SPACE_FILE_FORK_HPP
#define TALUS_SPACE_FILE_FORK_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "sync/lock_rank.hpp"
#include "sync/ranked_lock.hpp"
#include "space/file_store.hpp"
#include "space/file_pieces.hpp"

namespace talus::core {

// One store's part of a fork.
class FileFork {
 public:
  explicit FileFork(FileStore& store) noexcept : store_{store} {}

  // `is_alone`: see FileStores::before_fork(). Locks the store for in_parent() to unlock, of which
  // the analysis knows nothing.
  template <typename IsAlone>
  void before(IsAlone is_alone) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    store_.lock_.lock();
    if (!store_.is_intact()) store_.lose_file();
    if (store_.has_lost_ && is_alone()) leave_lost_file();
    if (store_.file_ == FileStore::none) return;
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      for_each_run(piece->unshared, false, piece->all(), [&](SliceRun run) noexcept {
        if (store_.map_slices(*piece, run, os::FileSharing::own_copy)) {
          piece->copied.set(run.from, run.to, true);
        }
      });
    }
  }

  // `may_return`: the child has read the file, and no other thread writes to this memory.
  void in_parent(bool has_waited, bool may_return) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      for_each_run(piece->copied, true, piece->all(),
                   [&](SliceRun run) noexcept { return_slices(*piece, run, may_return); });
      piece->copied.set(0, piece->slices, false);
    }
    // It is unknown when the child has read the file: the file stays unchanged, and a new one is
    // begun.
    if (!has_waited) store_.close_file();
    store_.lock_.unlock();
  }

  void in_child() noexcept {
    store_.lock_.reset_in_child();
    store_.close_file();
    const bool has_file = store_.open_file();
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      piece->unshared.set(0, piece->slices, true);
      piece->copied.set(0, piece->slices, false);
      for_each_part_to_copy(*piece, piece->all(),
                            [&](SliceRun part) noexcept { take_over(*piece, part, has_file); });
      // Mappings of the parent's file would keep it on the disk.
      if (has_file) share_free(*piece, piece->all());
    }
  }

 private:
  // Calls visit(part) for all slices in use, in parts of at most file_copy_bytes.
  template <typename Visit>
  static void for_each_part_to_copy(const FilePiece& piece, SliceRun within, Visit visit) noexcept {
    constexpr size_t most = file_copy_bytes / slice_bytes;
    for_each_run(piece.reserved, true, within, [&visit](SliceRun run) noexcept {
      for (; run.to - run.from > most; run.from += most) {
        visit(SliceRun{run.from, run.from + most});
      }
      visit(run);
    });
  }
  // Maps the unused slices to the file.
  void share_free(FilePiece& piece, SliceRun within) noexcept {
    for_each_run(piece.reserved, false, within, [&](SliceRun run) noexcept {
      store_.map_slices(piece, run, os::FileSharing::shared);
    });
  }

  // Parent: turns memory in a lost file, which cannot be mapped anew, into memory of the process's
  // own. No other thread writes to it.
  void leave_lost_file() noexcept {
    const uint64_t mask = os::System::block_signals();
    bool is_left = true;
    for (FilePiece* piece = store_.pieces_; piece != nullptr; piece = piece->next) {
      for_each_run(piece->unshared, true, piece->all(), [&](SliceRun run) noexcept {
        for_each_part_to_copy(*piece, run, [&](SliceRun part) noexcept {
          const bool is_own =
              !is_near_stack(*piece, part) && copy_to_memory(piece->at(part.from), part.bytes());
          is_left = is_left && is_own;
        });
      });
    }
    store_.has_lost_ = !is_left;
    os::System::restore_signals(mask);
  }
  // Replaces what is mapped there by memory of the kernel's. False: there is none.
  static bool copy_to_memory(void* at, size_t bytes) noexcept {
    void* copy = os::map_pages(nullptr, bytes);
    if (copy == nullptr) return false;
    copy_bytes(copy, at, bytes);
    if (os::System::move_over(copy, at, bytes)) return true;
    os::System::unmap(copy, bytes);
    return false;
  }

  // Do these slices hold the stack that this code runs on?
  static bool is_near_stack(const FilePiece& piece, SliceRun run) noexcept {
    const char here = 0;
    const uintptr_t stack = reinterpret_cast<uintptr_t>(&here);
    return stack + slice_bytes >= reinterpret_cast<uintptr_t>(piece.at(run.from)) &&
           stack - slice_bytes < reinterpret_cast<uintptr_t>(piece.at(run.to));
  }

  // Parent: the slices lie in the file again, or stay unshared where that is impossible.
  void return_slices(FilePiece& piece, SliceRun run, bool may_return) noexcept {
    piece.unshared.set(run.from, run.to, true);
    share_free(piece, run);
    if (!may_return) return;
    for_each_part_to_copy(piece, run, [&](SliceRun part) noexcept {
      if (is_near_stack(piece, part) || !write_back(piece, part)) return;
      store_.map_slices(piece, part, os::FileSharing::shared);
    });
  }
  // Writes the differing pages to the file. False: the file cannot be mapped again.
  bool write_back(FilePiece& piece, SliceRun run) noexcept {
    const size_t bytes = run.bytes();
    char* file = os::System::map_file_again(bytes, store_.file_, piece.offset_of(run.from));
    if (file == nullptr) return false;
    const char* own = static_cast<const char*>(piece.at(run.from));
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

  // Child: the slices are its own afterwards, in its file or in memory.
  void take_over(FilePiece& piece, SliceRun run, bool has_file) noexcept {
    void* const at = piece.at(run.from);
    const size_t bytes = run.bytes();
    if (is_near_stack(piece, run)) return touch(at, bytes);
    const uint64_t offset = piece.offset_of(run.from);
    if (has_file && os::System::reserve_room(store_.file_, offset, bytes) &&
        os::System::write_at(store_.file_, at, bytes, offset) &&
        store_.map_slices(piece, run, os::FileSharing::shared)) {
      return;
    }
    if (!copy_to_memory(at, bytes)) touch(at, bytes);
  }
  // Writing to a page of a private mapping makes it the process's own.
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
    Held held{lock_};
    store.next_ = first_;
    first_ = &store;
  }
  void remove(FileStore& store) noexcept {
    Held held{lock_};
    FileStore** link = &first_;
    while (*link != nullptr && *link != &store) link = &(*link)->next_;
    if (*link != nullptr) *link = store.next_;
  }

  // A hint: another thread may add a store meanwhile.
  bool is_empty() const noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS { return first_ == nullptr; }

  // `is_alone`: the calling thread is the only one of the process, except Talus' own.
  template <typename IsAlone>
  void before_fork(IsAlone is_alone) noexcept TALUS_ACQUIRE(lock_) {
    lock_.lock();
    if (first_ == nullptr) return;
    has_pipe_ = os::System::make_pipe(pipe_);
    const LocksOfOneRank in_order;
    for_each([is_alone](FileStore& store) noexcept { FileFork{store}.before(is_alone); });
  }
  template <typename IsAlone>
  void after_fork_in_parent(IsAlone is_alone) noexcept TALUS_RELEASE(lock_) {
    if (first_ != nullptr) {
      if (has_pipe_) {
        os::System::close_file(pipe_[1]);
        os::System::wait_for_letter(pipe_[0]);
        os::System::close_file(pipe_[0]);
      }
      // A signal handler might write between the comparison and the new mapping.
      const uint64_t mask = os::System::block_signals();
      const bool may_return = has_pipe_ && is_alone();
      for_each([this, may_return](FileStore& store) noexcept {
        FileFork{store}.in_parent(has_pipe_, may_return);
      });
      os::System::restore_signals(mask);
    }
    lock_.unlock();
  }
  // A single thread needs no lock.
  void after_fork_in_child() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
    lock_.reset_in_child();
    if (first_ == nullptr) return;
    const uint64_t mask = os::System::block_signals();
    for_each([](FileStore& store) noexcept { FileFork{store}.in_child(); });
    os::System::restore_signals(mask);
    if (!has_pipe_) return;
    os::System::send_letter(pipe_[1]);  // the parent continues, even if others have this end
    os::System::close_file(pipe_[0]);
    os::System::close_file(pipe_[1]);
  }

 private:
  template <typename Visit>
  void for_each(Visit visit) noexcept TALUS_REQUIRES(lock_) {
    for (FileStore* store = first_; store != nullptr; store = store->next_) visit(*store);
  }

  FileStoresLock lock_;
  FileStore* first_ TALUS_GUARDED_BY(lock_) = nullptr;
  bool has_pipe_ = false;
  int pipe_[2] = {};
};
TALUS_CONSTINIT inline FileStores file_stores;

}  // namespace talus::core

#endif  // TALUS_SPACE_FILE_FORK_HPP
