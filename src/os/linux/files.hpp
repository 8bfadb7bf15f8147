// SPDX-License-Identifier: MIT
// os/linux/files: reading small files, and writing printed statistics.
//
// Owns: nothing. Contract: os/contract.hpp, the groups files and printing. A process behind a
// filter of system calls reads files at start only, and prints only where statistics were asked
// for. Called on: any thread. Must not know: its callers.
#ifndef TALUS_OS_LINUX_FILES_HPP
#define TALUS_OS_LINUX_FILES_HPP

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.hpp"
#include "os/arguments.hpp"
#include "os/linux/kernel_call.hpp"
#include "os/linux/process.hpp"

namespace talus::core::os {

struct LinuxFiles : LinuxProcess {
  static constexpr bool has_files = true, has_printing = true;

  // Opening never waits, even if the name is a pipe's.
  static long open_file(const char* path) noexcept {
    return call(SYS_openat, AT_FDCWD, to_long(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  }
  static long read_file(long file, char* buffer, size_t bytes) noexcept {
    long result = interrupted;
    while (result == interrupted) {
      result = call(SYS_read, file, to_long(buffer), static_cast<long>(bytes));
    }
    return result;
  }
  static bool look_at_file(long file, FileFacts& facts) noexcept {
    struct stat found {};
    if (call(SYS_fstat, file, to_long(&found)) != 0) return false;
    facts.is_regular = S_ISREG(found.st_mode);
    facts.is_writable_by_others = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    facts.owner = found.st_uid;
    return true;
  }
  static long read_link(const char* path, char* buffer, size_t bytes) noexcept {
    return call(SYS_readlinkat, AT_FDCWD, to_long(path), to_long(buffer), static_cast<long>(bytes));
  }
  static void close_file(long file) noexcept { call(SYS_close, file, 0); }

  // Never waits: a pipe must already have a reader.
  static long open_to_write(const char* path, FileStart start) noexcept {
    const int always = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const int how = start == FileStart::fresh ? O_EXCL : O_APPEND;
    return call(SYS_openat, AT_FDCWD, to_long(path), always | how, 0644);
  }
  static long find_end(long file) noexcept { return call(SYS_lseek, file, 0, SEEK_END); }
  static long write_quietly(long file, const char* text, size_t bytes) noexcept {
    constexpr uint64_t lost_reader = uint64_t{1} << (SIGPIPE - 1);
    constexpr uint64_t too_long = uint64_t{1} << (SIGXFSZ - 1), both = lost_reader | too_long;
    uint64_t before = 0, waiting = 0;
    const bool is_held =
        call(SYS_rt_sigprocmask, SIG_BLOCK, to_long(&both), to_long(&before), sizeof both) == 0;
    // A signal that the program blocks itself may be pending already, and belongs to the program.
    if ((before & both) != 0) call(SYS_rt_sigpending, to_long(&waiting), sizeof waiting);
    const long result = call(SYS_write, file, to_long(text), static_cast<long>(bytes));
    uint64_t caused = result == broken_pipe ? lost_reader : 0;
    if (result == file_too_long) caused = too_long;
    caused &= ~waiting;
    const timespec now{};
    // The kernel delivers a thread's own signal before one sent to the process.
    if (is_held && caused != 0) {
      call(SYS_rt_sigtimedwait, to_long(&caused), 0, to_long(&now), sizeof caused);
    }
    if (is_held) restore_signals(before);
    return result;
  }
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
  static bool may_be_replaced(const char* path) noexcept {
    struct stat facts {};
    const long result =
        call(SYS_newfstatat, AT_FDCWD, to_long(path), to_long(&facts), AT_SYMLINK_NOFOLLOW);
    return result == no_entry || (result == 0 && S_ISREG(facts.st_mode));
  }
  static bool rename(const char* from, const char* to) noexcept {
    return call(SYS_renameat2, AT_FDCWD, to_long(from), AT_FDCWD, to_long(to)) == 0;
  }
  static bool remove_name(const char* path) noexcept {
    return call(SYS_unlinkat, AT_FDCWD, to_long(path), 0) == 0;
  }
  // flock: the lock lasts also through copies of the descriptor.
  static long try_lock(long file) noexcept {
    constexpr long exclusive = 2, at_once = 4;
    return call(SYS_flock, file, exclusive | at_once);
  }
  static void unlock(long file) noexcept {
    constexpr long unlock = 8;
    call(SYS_flock, file, unlock);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_FILES_HPP
