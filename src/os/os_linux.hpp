// SPDX-License-Identifier: MIT
// os/os_linux: the kernel calls that Talus makes, and the only ones.
//
// Contract (what os.hpp promises to the floors above, and what os_fake.hpp keeps as well):
//   map(hint, bytes)      zeroed, private, readable and writable pages, at `hint` if that is free
//                         and anywhere otherwise; null when refused or outside the page map's
//                         addresses. Touches no memory.
//   unmap(at, bytes)      gives addresses back; false: they stay mapped.
//   purge(at, bytes)      drops the pages' contents and memory, they read as zero; false: kept, or
//                         their contents are undefined (os/kernel_proofs.hpp).
//   purge_runs(runs, count)  purges many runs of pages in one call, so that other processors are
//                         interrupted only once; returns how many runs, from the first on. Linux
//                         6.14 or later; only where rare_calls.hpp allows it.
//   look_for_pages(at, bytes, pages)  one byte for each page: bit 0 says that it has memory; false:
//                         the kernel does not say. For statistics and the fill probe. Only where
//                         rare_calls.hpp allows it.
//   move_pages(from, to, bytes)  the contents of the first pages of `from` appear at `to`, the
//                         pages of `from` read as zero, all stay mapped; returns the bytes moved.
//   renew(at, bytes)      maps pages anew: they read as zero, have no memory, no page tables and no
//                         advice; false: they are unchanged.
//   reserve(bytes)        addresses without access, otherwise as map; null when refused.
//   allow(at, bytes)      reserved pages become readable and writable; false: nothing changed.
//   withdraw(at, bytes)   drops the pages' contents and memory and allows no access; false: kept.
//   open_file(path)       opens a small file for reading; negative: refused.
//   look_at_file(file, facts)  false: the kernel does not say. At start only.
//   read_link(path, buffer, bytes)  the bytes of a link's text, without a closing zero; negative:
//                         no link. At start only.
//   read_file(file, buffer, bytes)  the bytes read, 0 at the end; negative: refused.
//   close_file(file)      each opened file is closed before the caller returns.
// Arguments are multiples of page_bytes(). No function touches errno. All may be called on any
// thread at any time. After start only mmap, munmap, mremap, madvise and futex are used. The
// background thread also uses mprotect, rt_sigprocmask, clone and exit. So the narrowest sandboxes
// let them pass; tests/conformance runs under such a filter. The calls that rare_calls.hpp names
// are used where there is no filter. After a fault of the program was reported, the calls of
// abort() are used as well.
// The calls for a provider of memory are in os/file_calls.hpp, the clock is in os/clock_calls.hpp.
// Every other function states when it may be used.
#ifndef TALUS_OS_OS_LINUX_HPP
#define TALUS_OS_OS_LINUX_HPP

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "base/base.hpp"
#include "os/kernel_proofs.hpp"
#include "arch/arch.hpp"
#include "os/kernel_call.hpp"
#include "os/watched_calls.hpp"

namespace talus::core::os {

// The thread that reported a fault. It may be running the program's handler of SIGABRT, and holds
// the locks that it held at the fault. 0: none did.
inline Atomic<uint32_t> reporting_thread;
// How long its handler may wait for a lock. A holder that needs longer will never unlock.
inline constexpr uint64_t report_patience_ms = 5000;

// Facts of a file besides its contents.
struct FileFacts {
  bool is_regular = false;
  bool is_writable_by_others = false;  // than its owner: by a group or by all
  uint32_t owner = 0;
};

// Consecutive pages; the kernel reads arrays of these (struct iovec).
struct PageRun {
  void* at;
  size_t bytes;
};
static_assert(sizeof(PageRun) == sizeof(iovec));

struct LinuxOs : KernelProofs {
  static size_t page_bytes() noexcept { return getauxval(AT_PAGESZ); }
  // True in a process that got rights from its file: it must ignore its environment.
  static bool is_secure() noexcept { return getauxval(AT_SECURE) != 0; }

  // Processors that this process may run on; 1 if the kernel does not say. Called once, at start.
  static size_t cpu_count() noexcept {
    unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {};
    const long bytes = call(SYS_sched_getaffinity, 0, sizeof mask, to_long(mask));
    size_t count = 0;
    for (long word = 0; word * static_cast<long>(sizeof mask[0]) < bytes; word++) {
      count += count_bits(mask[word]);
    }
    return count > 0 ? count : 1;
  }

  static void* map(void* hint, size_t bytes) noexcept {
    const long at = call(SYS_mmap, to_long(hint), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return is_error(at) ? nullptr : reinterpret_cast<void*>(at);
  }
  static bool unmap(void* at, size_t bytes) noexcept {
    return page_call(SYS_munmap, at, bytes) == 0;
  }
  static bool purge(void* at, size_t bytes) noexcept {
    return is_purge_true() && page_call(SYS_madvise, at, bytes, MADV_DONTNEED) == 0;
  }
  static size_t purge_runs(const PageRun* runs, size_t count) noexcept {
    if (TALUS_UNLIKELY(page_watch.is_on())) return purge_one_by_one(runs, count);
    if (!is_purge_of_runs_true()) return 0;
    const long result = call(process_madvise, own_process, to_long(runs), static_cast<long>(count),
                             MADV_DONTNEED, 0);
    size_t left = is_error(result) ? 0 : static_cast<size_t>(result);
    size_t done = 0;
    for (; done < count && left >= runs[done].bytes; done++) left -= runs[done].bytes;
    return done;
  }
  static bool renew(void* at, size_t bytes) noexcept {
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const long result = page_call(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (result == to_long(at)) return true;
    map_if_gone(at, bytes);
    return false;
  }
  static size_t move_pages(void* from, void* to, size_t bytes) noexcept {
    if constexpr (TALUS_COPY_ONLY != 0) return 0;
    if (!is_move_true()) return 0;
    bytes = bytes_of_one_mapping(from, bytes);
    const long length = static_cast<long>(bytes);
    const long result = page_call(SYS_mremap, from, bytes, length, move_flags, to_long(to));
    if (result == to_long(to)) return bytes;
    if (result != invalid_argument) map_if_gone(to, bytes);
    return 0;
  }
  // A call that the kernel abandons because other threads made too many mappings may have unmapped
  // these pages. No other mapping is expected to have taken the addresses since.
  static void map_if_gone(void* at, size_t bytes) noexcept {
    constexpr long fixed_noreplace = 0x100000;  // Linux 4.17; MREMAP_DONTUNMAP is younger
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed_noreplace;
    for (int attempt = 0; attempt < 1000; attempt++) {
      const long result = call(SYS_mmap, to_long(at), static_cast<long>(bytes),
                               PROT_READ | PROT_WRITE, flags, -1, 0);
      if (result != no_memory) return;
      sleep_us(100);
    }
  }
  // How many bytes from here on, a page at least, belong to one mapping. Pages of several mappings
  // are not moved at once. Linux before 6.17 refuses that, but unmaps the target's pages first.
  // Later kernels move only a part where there are too many mappings.
  static size_t bytes_of_one_mapping(void* at, size_t bytes) noexcept {
    if (is_one_mapping(at, bytes)) return bytes;
    size_t one = page_bytes(), several = bytes;
    while (several - one > page_bytes()) {
      const size_t middle = one + (several - one) / 2 / page_bytes() * page_bytes();
      (is_one_mapping(at, middle) ? one : several) = middle;
    }
    return one;
  }
  static bool is_one_mapping(void* at, size_t bytes) noexcept {
    const long length = static_cast<long>(bytes);
    const long page = static_cast<long>(page_bytes());
    // Asks for one page more. The error tells whether another mapping begins within the range, or
    // only the room for the extra page is missing.
    const long result = call(SYS_mremap, to_long(at), length, length + page, 0);
    if (result == no_memory) return true;
    if (result != to_long(at)) return false;
    return unmap(static_cast<char*>(at) + bytes, static_cast<size_t>(page));
  }

  static bool look_for_pages(const void* at, size_t bytes, unsigned char* pages) noexcept {
    return call(SYS_mincore, to_long(at), static_cast<long>(bytes), to_long(pages)) == 0;
  }
  static void* reserve(size_t bytes) noexcept {
    const long at = call(SYS_mmap, 0, static_cast<long>(bytes), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return is_error(at) ? nullptr : reinterpret_cast<void*>(at);
  }
  static bool allow(void* at, size_t bytes) noexcept {
    return call(SYS_mprotect, to_long(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE) == 0;
  }
  // A new mapping joins its neighbours; pages whose access is removed would not. But removing
  // access works even where there are too many mappings.
  static bool withdraw(void* at, size_t bytes) noexcept {
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const long result = page_call(SYS_mmap, at, bytes, PROT_NONE, flags, -1, 0);
    return result == to_long(at) || (protect(at, bytes) && purge(at, bytes));
  }

  // Asks for huge pages in a range; only a hint, so a refusal changes nothing.
  static void advise_huge(void* at, size_t bytes) noexcept {
    call(SYS_madvise, to_long(at), static_cast<long>(bytes), MADV_HUGEPAGE);
  }

  // Asks for small pages in a range, whatever the system's default; only a hint, too.
  static void advise_small(void* at, size_t bytes) noexcept {
    call(SYS_madvise, to_long(at), static_cast<long>(bytes), MADV_NOHUGEPAGE);
  }

  // A number that is unique among the living threads: not 0, and bit 0 is clear.
  TALUS_FAST static uint32_t thread_mark() noexcept {
    return (static_cast<uint32_t>(arch::thread_pointer() >> 3) & ~uint32_t{3}) | 2;
  }
  // Sleeps while the word has this value; may return early. A thread that reported a fault may wait
  // for a lock that it holds itself: after report_patience_ms the process ends.
  static void futex_wait(uint32_t* word, uint32_t value) noexcept {
    const uint32_t reporter = reporting_thread.load_hint();  // the own store is seen
    if (TALUS_UNLIKELY(reporter != 0) && reporter == thread_id()) return wait_or_end(word, value);
    call(SYS_futex, to_long(word), FUTEX_WAIT_PRIVATE, static_cast<long>(value), 0);
  }
  // Sleeps, so that a thread of lower priority can run.
  static void sleep_us(long microseconds) noexcept {
    uint32_t word = 0;
    const timespec span{0, microseconds * 1000};
    call(SYS_futex, to_long(&word), FUTEX_WAIT_PRIVATE, 0, to_long(&span));
  }
  static void futex_wake_one(uint32_t* word) noexcept {
    call(SYS_futex, to_long(word), FUTEX_WAKE_PRIVATE, 1);
  }

  static void write_error(const char* text, size_t bytes) noexcept {
    call(SYS_write, 2, to_long(text), static_cast<long>(bytes));
  }

  // The file is not inherited by exec. Opening never waits, even if the name is a pipe's.
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

  // As futex_wait, for `milliseconds` at most.
  static void futex_wait_ms(uint32_t* word, uint32_t value, uint32_t milliseconds) noexcept {
    wait_ms(word, value, milliseconds);
  }
  // Sleeps, for a tenth of a second at most, until the kernel has cleared the id of a thread
  // (arch/clone.hpp).
  static void wait_for_thread(uint32_t* id, uint32_t value) noexcept {
    const timespec span{0, 100000000};
    call(SYS_futex, to_long(id), FUTEX_WAIT, static_cast<long>(value), to_long(&span));
  }

  // Removes access to these pages. False: nothing changed.
  static bool protect(void* at, size_t bytes) noexcept {
    return call(SYS_mprotect, to_long(at), static_cast<long>(bytes), PROT_NONE) == 0;
  }
  // Puts guards on these pages: they lose contents and memory, and an access faults; no mapping is
  // split. False: the kernel cannot (before Linux 6.13), or some pages are locked in memory.
  static bool set_guards(void* at, size_t bytes) noexcept {
    return is_guard_true() && page_call(SYS_madvise, at, bytes, guard_install) == 0;
  }
  // Removes the guards: the pages can be used, and read as zero. False: nothing changed.
  static bool lift_guards(void* at, size_t bytes) noexcept {
    return call(SYS_madvise, to_long(at), static_cast<long>(bytes), guard_remove) == 0;
  }
  // These pages read as zero in each child with its own memory, however it is made.
  static bool clear_in_children(void* at, size_t bytes) noexcept {
    constexpr long wipe_on_fork = 18;  // Linux 4.14
    return call(SYS_madvise, to_long(at), static_cast<long>(bytes), wipe_on_fork) == 0;
  }

  // Blocks all signals for this thread, and for threads that it creates, until the mask is
  // restored.
  static uint64_t block_signals() noexcept {
    const uint64_t all = ~uint64_t{0};
    uint64_t before = 0;
    call(SYS_rt_sigprocmask, SIG_SETMASK, to_long(&all), to_long(&before), sizeof all);
    return before;
  }
  static void restore_signals(uint64_t mask) noexcept {
    call(SYS_rt_sigprocmask, SIG_SETMASK, to_long(&mask), 0, sizeof mask);
  }
  // Writes without the signals SIGPIPE and SIGXFSZ: only the result tells that the reader has gone,
  // or that the file may not grow. For statistics.
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

  // From here on: not in a process that may be behind a filter of system calls.
  static uint32_t thread_id() noexcept { return static_cast<uint32_t>(call(SYS_gettid, 0, 0)); }
  // Notes that the calling thread is about to end the process because of a fault.
  static void note_report() noexcept { reporting_thread.store_hint(thread_id()); }
  // Sends a signal to the calling thread.
  static void send_here(int signal) noexcept {
    call(SYS_tgkill, process_id(), static_cast<long>(thread_id()), signal);
  }
  static long process_id() noexcept { return call(SYS_getpid, 0, 0); }
  // The most threads that the process' user may have at a time.
  static uint64_t thread_count_max() noexcept { return resource_limit(RLIMIT_NPROC); }
  // The most bytes of addresses that the process may have.
  static uint64_t address_bytes_max() noexcept { return resource_limit(RLIMIT_AS); }
  // Waits until the kernel no longer lists a thread, which has ended, among those of the process.
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
  // Names the calling thread and gives it ordinary scheduling and the first thread's CPU affinity.
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

 private:
  static size_t purge_one_by_one(const PageRun* runs, size_t count) noexcept {
    size_t done = 0;
    while (done < count && purge(runs[done].at, runs[done].bytes)) done++;
    return done;
  }
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

#endif  // TALUS_OS_OS_LINUX_HPP
