// SPDX-License-Identifier: MIT
// os/linux/threads: waiting on a word, and a thread that the C library does not know.
//
// Owns: nothing. Contract: os/contract.hpp, the core calls that wait and the group threads. The
// background thread uses futex, mprotect, rt_sigprocmask, clone and exit, which sandboxes allow.
// Called on: any thread. Must not know: its callers.
#ifndef TALUS_OS_LINUX_THREADS_HPP
#define TALUS_OS_LINUX_THREADS_HPP

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/base.hpp"
#include "arch/clone.hpp"
#include "os/linux/clock.hpp"
#include "os/linux/kernel_call.hpp"
#include "os/linux/process.hpp"
#include "os/reporting_thread.hpp"

// glibc 2.32 and later: not 0 until the process makes its first thread. The thread that makes it
// clears the byte first. The background thread does not count (arch/clone.hpp): it frees no block
// of the program.
extern "C" [[gnu::weak, gnu::visibility("default")]] char __libc_single_threaded;

namespace talus::core::os {

struct LinuxThreads : LinuxProcess, LinuxClock {
  static constexpr bool has_threads = true;

  TALUS_FAST static uint32_t thread_mark() noexcept {
    return (static_cast<uint32_t>(arch::thread_pointer() >> 3) & ~uint32_t{3}) | 2;
  }
  TALUS_FAST static bool has_one_thread() noexcept {
    const char* const known = &__libc_single_threaded;
    return known != nullptr && *known != 0;
  }
  static void futex_wait(uint32_t* word, uint32_t value) noexcept {
    const uint32_t reporter = reporting_thread.load_hint();  // the own store is seen
    if (TALUS_UNLIKELY(reporter != 0) && reporter == thread_id()) return wait_or_end(word, value);
    call(SYS_futex, to_long(word), FUTEX_WAIT_PRIVATE, static_cast<long>(value), 0);
  }
  static void futex_wake_one(uint32_t* word) noexcept {
    call(SYS_futex, to_long(word), FUTEX_WAKE_PRIVATE, 1);
  }
  static void note_report() noexcept { reporting_thread.store_hint(thread_id()); }

  static long make_thread(void* stack_top, arch::ThreadBlock& block, uint32_t* id,
                          void (*run)()) noexcept {
    return arch::clone_thread(stack_top, block, id, run);
  }
  [[noreturn]] static void end_thread() noexcept { arch::exit_thread(); }
  static void futex_wait_ms(uint32_t* word, uint32_t value, uint32_t milliseconds) noexcept {
    wait_ms(word, value, milliseconds);
  }
  static void wait_for_thread(uint32_t* id, uint32_t value) noexcept {
    const timespec span{0, 100000000};
    call(SYS_futex, to_long(id), FUTEX_WAIT, static_cast<long>(value), to_long(&span));
  }
  static void wait_until_gone(uint32_t thread) noexcept {
    constexpr long no_such_thread = -3;
    const long process = process_id();
    for (int wait = 0; wait < 20000; wait++) {  // a second or more: a debugger may hold it
      if (call(SYS_tgkill, process, static_cast<long>(thread), 0) == no_such_thread) break;
      sleep_us(50);
    }
    // The lists of threads change under one lock, which this call takes as well.
    call(SYS_kill, 0, 0);
  }
  TALUS_USUAL static void become_ordinary_thread(const char* name) noexcept {
    call(SYS_prctl, PR_SET_NAME, to_long(name));
    const long policy = call(SYS_sched_getscheduler, 0, 0);
    const int priority = 0;
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
      call(SYS_sched_setscheduler, 0, SCHED_OTHER, to_long(&priority));
    }
    unsigned long own[1024 / (8 * sizeof(long))] = {}, first[1024 / (8 * sizeof(long))] = {};
    call(SYS_sched_getaffinity, 0, sizeof own, to_long(own));
    const long bytes = call(SYS_sched_getaffinity, process_id(), sizeof first, to_long(first));
    for (size_t word = 0; bytes > 0 && word < sizeof own / sizeof own[0]; word++) {
      if (own[word] == first[word]) continue;
      call(SYS_sched_setaffinity, 0, bytes, to_long(first));
      return;
    }
  }
  static bool clear_in_children(void* at, size_t bytes) noexcept {
    constexpr long wipe_on_fork = 18;  // Linux 4.14
    return call(SYS_madvise, to_long(at), static_cast<long>(bytes), wipe_on_fork) == 0;
  }
  static uint64_t thread_count_max() noexcept { return resource_limit(RLIMIT_NPROC); }
  static size_t task_count() noexcept {
    struct stat facts {};
    if (call(SYS_newfstatat, AT_FDCWD, to_long("/proc/self/task"), to_long(&facts)) != 0 ||
        facts.st_nlink < 3)
      return 0;
    return static_cast<size_t>(facts.st_nlink) - 2;
  }

 private:
  // Sleeps while the word has this value, for `milliseconds` at most; returns the kernel's result.
  static long wait_ms(const uint32_t* word, uint32_t value, uint64_t milliseconds) noexcept {
    const timespec span{static_cast<time_t>(milliseconds / 1000),
                        static_cast<long>(milliseconds % 1000) * 1000000};
    return call(SYS_futex, to_long(word), FUTEX_WAIT_PRIVATE, static_cast<long>(value),
                to_long(&span));
  }
  // As futex_wait, for report_patience_ms at most.
  TALUS_COLD static void wait_or_end(const uint32_t* word, uint32_t value) noexcept {
    const uint64_t end_ms = now_ms() + report_patience_ms;
    long result = interrupted;
    while (result == interrupted) {
      const uint64_t now = now_ms();
      result = wait_ms(word, value, now < end_ms ? end_ms - now : 0);
    }
    if (result == timed_out) end_by_abort();
  }
  // Ends the process by SIGABRT, whose handler had its turn.
  [[noreturn]] TALUS_COLD static void end_by_abort() noexcept {
    const uint64_t no_handler[4] = {};  // the kernel's sigaction
    const uint64_t blocked = uint64_t{1} << (SIGABRT - 1);
    call(SYS_rt_sigaction, SIGABRT, to_long(no_handler), 0, sizeof blocked);
    call(SYS_rt_sigprocmask, SIG_UNBLOCK, to_long(&blocked), 0, sizeof blocked);
    send_here(SIGABRT);
    for (;;) send_here(SIGKILL);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_THREADS_HPP
