// SPDX-License-Identifier: MIT
// os/linux/file_memory: memory in a file.
//
// Owns: nothing. Contract: os/contract.hpp, the group file_memory. Used only where a provider of
// memory was asked for, so other processes behind a filter of system calls never make these calls.
// Called on: any thread. Must not know: its callers.
#ifndef TALUS_OS_LINUX_FILE_MEMORY_HPP
#define TALUS_OS_LINUX_FILE_MEMORY_HPP

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/arguments.hpp"
#include "os/linux/kernel_call.hpp"

#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif

namespace talus::core::os {

struct LinuxFileMemory : KernelCall {
  static constexpr bool has_file_memory = true;

  static long open_unnamed_in(const char* directory) noexcept {
    return call(SYS_openat, AT_FDCWD, to_long(directory), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  }
  static long open_unlinked(const char* path) noexcept {
    const long flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    const long file = call(SYS_openat, AT_FDCWD, to_long(path), flags, 0600);
    if (file >= 0) call(SYS_unlinkat, AT_FDCWD, to_long(path), 0);
    return file;
  }
  static long move_up(long file) noexcept {
    long moved = call(SYS_fcntl, file, F_DUPFD_CLOEXEC, 1000);
    if (moved < 0) moved = call(SYS_fcntl, file, F_DUPFD_CLOEXEC, 200);
    if (moved < 0) return file;
    call(SYS_close, file);
    return moved;
  }
  static bool identify(long file, FileIdentity& found) noexcept {
    struct stat facts {};
    if (look_at(file, "", AT_EMPTY_PATH, facts) != 0) return false;
    found = FileIdentity{facts.st_dev, facts.st_ino};
    return true;
  }
  // The kernel answers a write beyond this length with a signal.
  static uint64_t length_max() noexcept {
    constexpr int file_size = 1;  // RLIMIT_FSIZE
    return resource_limit(file_size);
  }
  static bool set_length(long file, uint64_t bytes) noexcept {
    return call(SYS_ftruncate, file, static_cast<long>(bytes)) == 0;
  }
  static bool reserve_room(long file, uint64_t offset, size_t bytes) noexcept {
    const long result = allocate(file, 0, offset, bytes);
    if (result == not_supported || result == no_such_call) {
      return length_max() >= offset + bytes && write_zeros(file, offset, bytes);
    }
    return result == 0;
  }
  static bool give_room_back(long file, uint64_t offset, size_t bytes) noexcept {
    constexpr long keep_size = 1, punch_hole = 2;
    return allocate(file, keep_size | punch_hole, offset, bytes) == 0;
  }
  static bool write_at(long file, const void* from, size_t bytes, uint64_t offset) noexcept {
    const char* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const long written = call(SYS_pwrite64, file, to_long(at), static_cast<long>(bytes),
                                static_cast<long>(offset));
      if (written == interrupted) continue;
      if (written <= 0) return false;
      at += written;
      offset += static_cast<uint64_t>(written);
      bytes -= static_cast<size_t>(written);
    }
    return true;
  }

  static bool map_file(void* at, size_t bytes, long file, uint64_t offset,
                       FileSharing sharing) noexcept {
    const long flags = sharing == FileSharing::shared ? MAP_SHARED | MAP_FIXED
                                                      : MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    return !is_error(call(SYS_mmap, to_long(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                          flags, file, static_cast<long>(offset)));
  }
  static char* map_file_again(size_t bytes, long file, uint64_t offset) noexcept {
    const long at = call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                         file, static_cast<long>(offset));
    return is_error(at) ? nullptr : reinterpret_cast<char*>(at);
  }
  static bool move_over(void* from, void* to, size_t bytes) noexcept {
    return !is_error(call(SYS_mremap, to_long(from), static_cast<long>(bytes),
                          static_cast<long>(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, to_long(to)));
  }

  static bool make_pipe(int (&ends)[2]) noexcept {
    return call(SYS_pipe2, to_long(ends), O_CLOEXEC) == 0;
  }
  static void wait_for_letter(long file) noexcept {
    char letter = 0;
    while (call(SYS_read, file, to_long(&letter), 1) == interrupted) {}
  }
  static void send_letter(long file) noexcept {
    const char letter = 0;
    while (call(SYS_write, file, to_long(&letter), 1) == interrupted) {}
  }
  static bool current_directory(char* path, size_t bytes) noexcept {
    return call(SYS_getcwd, to_long(path), static_cast<long>(bytes)) > 0 && path[0] == '/';
  }

 private:
  static long look_at(long from, const char* path, long flags, struct stat& facts) noexcept {
    return call(SYS_newfstatat, from, to_long(path), to_long(&facts), flags);
  }
  static long allocate(long file, long mode, uint64_t offset, size_t bytes) noexcept {
    constexpr int attempts_max = 1000;  // a signal at each attempt would be strange
    long result = interrupted;
    for (int i = 0; i < attempts_max && result == interrupted; i++) {
      result = call(SYS_fallocate, file, mode, static_cast<long>(offset), static_cast<long>(bytes));
    }
    return result;
  }
  static bool write_zeros(long file, uint64_t offset, size_t bytes) noexcept {
    static constexpr char zeros[4096] = {};
    for (size_t done = 0; done < bytes; done += sizeof zeros) {
      const size_t part = bytes - done < sizeof zeros ? bytes - done : sizeof zeros;
      if (!write_at(file, zeros, part, offset + done)) return false;
    }
    return true;
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_FILE_MEMORY_HPP
