// SPDX-License-Identifier: MIT
// os/file_calls: the kernel calls for memory in a file, populated memory, a mapping's node and
// name, and files for statistics.
//
// Owns: nothing. Contract, as in os_linux.hpp: no function touches errno, and a negative number or
// false says that the kernel refused. Used only where a provider of memory or printed statistics
// were asked for, so other processes behind a filter of system calls never make these calls.
// Called on: any thread. Must not know: its callers.
#ifndef TALUS_OS_FILE_CALLS_HPP
#define TALUS_OS_FILE_CALLS_HPP

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "os/order_calls.hpp"
#include "os/kernel_call.hpp"

#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif

namespace talus::core::os {

// Which file a descriptor names.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;

  bool operator==(const FileIdentity& other) const noexcept {
    return device == other.device && number == other.number;
  }
};

enum class FileSharing : uint8_t { shared, own_copy };

// More nodes than any kernel supports, and the bytes of a mapping's name, including the zero.
inline constexpr size_t nodes_max = 1024;
inline constexpr size_t mapping_name_bytes = 80;

struct FileCalls : OrderCalls {
  // A new file without a name in a directory; negative: refused.
  static long open_unnamed_in(const char* directory) noexcept {
    return call(SYS_openat, AT_FDCWD, to_long(directory), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  }
  // A new file of this name, which is removed at once. Negative: refused, or the name exists.
  static long open_unlinked(const char* path) noexcept {
    const long flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    const long file = call(SYS_openat, AT_FDCWD, to_long(path), flags, 0600);
    if (file >= 0) remove_name(path);
    return file;
  }
  // Moves the file to a descriptor that programs seldom use; the old descriptor is free again.
  static long move_up(long file) noexcept {
    long moved = call(SYS_fcntl, file, F_DUPFD_CLOEXEC, 1000);
    if (moved < 0) moved = call(SYS_fcntl, file, F_DUPFD_CLOEXEC, 200);
    if (moved < 0) return file;
    close(file);
    return moved;
  }
  static void close(long file) noexcept { call(SYS_close, file); }
  static bool identify(long file, FileIdentity& found) noexcept {
    struct stat facts {};
    if (look_at(file, "", AT_EMPTY_PATH, facts) != 0) return false;
    found = FileIdentity{facts.st_dev, facts.st_ino};
    return true;
  }
  // Is the name free, or a regular file's? False for a link, wherever it leads to.
  static bool may_be_replaced(const char* path) noexcept {
    struct stat facts {};
    const long result = look_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, facts);
    return result == no_entry || (result == 0 && S_ISREG(facts.st_mode));
  }
  // Replaces the file of the second name. False: nothing changed, as below.
  static bool rename(const char* from, const char* to) noexcept {
    return call(SYS_renameat2, AT_FDCWD, to_long(from), AT_FDCWD, to_long(to)) == 0;
  }
  static bool remove_name(const char* path) noexcept {
    return call(SYS_unlinkat, AT_FDCWD, to_long(path), 0) == 0;
  }
  // Locks the file as a whole against other processes (flock). The lock lasts until unlock(), also
  // through copies of the descriptor. 0, or the reason: try_again where another process holds it.
  static long try_lock(long file) noexcept {
    constexpr long exclusive = 2, at_once = 4;
    return call(SYS_flock, file, exclusive | at_once);
  }
  static void unlock(long file) noexcept {
    constexpr long unlock = 8;
    call(SYS_flock, file, unlock);
  }
  // The kernel answers a write beyond this length with a signal.
  static uint64_t length_max() noexcept {
    constexpr int file_size = 1;  // RLIMIT_FSIZE
    return resource_limit(file_size);
  }
  static bool set_length(long file, uint64_t bytes) noexcept {
    return call(SYS_ftruncate, file, static_cast<long>(bytes)) == 0;
  }
  // Reserves room on the disk for a part of the file. False: there is none.
  static bool reserve_room(long file, uint64_t offset, size_t bytes) noexcept {
    const long result = allocate(file, 0, offset, bytes);
    if (result == not_supported || result == no_such_call) {
      return length_max() >= offset + bytes && write_zeros(file, offset, bytes);
    }
    return result == 0;
  }
  // Gives the room back; the part reads as zero. False: it may or may not be unchanged.
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

  // Maps a part of the file at these addresses, whatever was there. False: nothing changed.
  static bool map_file(void* at, size_t bytes, long file, uint64_t offset,
                       FileSharing sharing) noexcept {
    const long flags = sharing == FileSharing::shared ? MAP_SHARED | MAP_FIXED
                                                      : MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    return !is_error(call(SYS_mmap, to_long(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                          flags, file, static_cast<long>(offset)));
  }
  // Maps the same part at another place as well; null: refused.
  static char* map_file_again(size_t bytes, long file, uint64_t offset) noexcept {
    const long at = call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                         file, static_cast<long>(offset));
    return is_error(at) ? nullptr : reinterpret_cast<char*>(at);
  }
  // Moves private memory from `from`, which is unmapped, to these addresses, whatever was there.
  // False: nothing changed.
  static bool move_over(void* from, void* to, size_t bytes) noexcept {
    return !is_error(call(SYS_mremap, to_long(from), static_cast<long>(bytes),
                          static_cast<long>(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, to_long(to)));
  }
  // Gives memory to all pages of a private range. False: the kernel has not enough.
  static bool populate(void* at, size_t bytes, size_t page_bytes) noexcept {
    constexpr long populate_write = 23;  // Linux 5.14
    const long result = call(SYS_madvise, to_long(at), static_cast<long>(bytes), populate_write);
    if (result != invalid_argument) return result == 0;
    // An older kernel: page by page, and it ends the process if there are not enough pages.
    auto* place = static_cast<volatile char*>(at);
    for (size_t offset = 0; offset < bytes; offset += page_bytes) place[offset] = 0;
    return true;
  }

  // Pages of the range that get memory from here on get it on this node while the node has any,
  // then on others. 0, or the reason: no_such_call in a kernel without nodes.
  static long prefer_node(void* at, size_t bytes, size_t node) noexcept {
    constexpr size_t word_bits = 8 * sizeof(unsigned long);
    unsigned long mask[nodes_max / word_bits] = {};
    mask[node / word_bits] = 1ul << (node % word_bits);
    const long bits = nodes_max + 1;  // the kernel counts one less
    return call(SYS_mbind, to_long(at), static_cast<long>(bytes), MPOL_PREFERRED, to_long(mask),
                bits);
  }
  // Shows the name in /proc/PID/maps. A kernel without names refuses, which does no harm. At most
  // mapping_name_bytes of printable ASCII, without \ ` $ [ ].
  static void name_mapping(void* at, size_t bytes, const char* name) noexcept {
    constexpr long set_mapping = 0x53564d41, anonymous_name = 0;  // Linux 5.17
    call(SYS_prctl, set_mapping, anonymous_name, to_long(at), static_cast<long>(bytes),
         to_long(name));
  }

  // Waits until something can be written, or the time is over. False: nothing can. Filters of
  // system calls seldom allow it (rare_calls.hpp).
  static bool wait_to_write(long file, uint64_t milliseconds) noexcept {
    constexpr int16_t can_write = 4;  // POLLOUT
    struct {
      int file;
      int16_t asked, found;
    } one = {static_cast<int>(file), can_write, 0};
    const timespec span{static_cast<time_t>(milliseconds / 1000),
                        static_cast<long>(milliseconds % 1000) * 1000000};
    return call(SYS_ppoll, to_long(&one), 1, to_long(&span), 0, 8) != 0;
  }

  // A pipe: the reader at the first end waits for a letter, or until all copies of the second are
  // closed.
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
  // Tasks of this process as /proc counts them; 0: it does not say.
  static size_t task_count() noexcept {
    struct stat facts {};
    if (look_at(AT_FDCWD, "/proc/self/task", 0, facts) != 0 || facts.st_nlink < 3) return 0;
    return static_cast<size_t>(facts.st_nlink) - 2;
  }
  // The directory that relative paths begin at; false: it is unknown, or too long.
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

#endif  // TALUS_OS_FILE_CALLS_HPP
