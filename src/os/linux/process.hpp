// SPDX-License-Identifier: MIT
// os/linux/process: the process and its threads as the kernel counts them, signals, and the end.
//
// Owns: nothing. Contract: os/contract.hpp, the core calls on the process and the groups signals
// and usage. Called on: any thread, before libc is ready. Must not know: its callers.
#ifndef TALUS_OS_LINUX_PROCESS_HPP
#define TALUS_OS_LINUX_PROCESS_HPP

#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/arguments.hpp"
#include "os/linux/kernel_call.hpp"

namespace talus::core::os {

struct LinuxProcess : KernelCall {
  static constexpr bool has_signals = true, has_usage = true;

  static bool is_secure() noexcept { return getauxval(AT_SECURE) != 0; }
  TALUS_START static uint64_t random_bits() noexcept {
    uint64_t words[2] = {};
    if (const auto* given = reinterpret_cast<const char*>(getauxval(AT_RANDOM))) {
      __builtin_memcpy(words, given, sizeof words);
    } else if (call(SYS_getrandom, to_long(words), sizeof words, 1 /* GRND_NONBLOCK */) <= 0) {
      words[0] = reinterpret_cast<uintptr_t>(words);  // the stack is at a random place
    }
    // The first word guards stacks, and the second one pointers: neither can be told from the sum.
    return mix_bits(words[0] + mix_bits(words[1]));
  }
  static size_t cpu_count() noexcept {
    unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {};
    const long bytes = call(SYS_sched_getaffinity, 0, sizeof mask, to_long(mask));
    size_t count = 0;
    for (long word = 0; word * static_cast<long>(sizeof mask[0]) < bytes; word++) {
      count += count_bits(mask[word]);
    }
    return count > 0 ? count : 1;
  }
  static long process_id() noexcept { return call(SYS_getpid, 0, 0); }
  static uint32_t thread_id() noexcept { return static_cast<uint32_t>(call(SYS_gettid, 0, 0)); }
  static uint64_t address_bytes_max() noexcept { return resource_limit(RLIMIT_AS); }
  static void write_error(const char* text, size_t bytes) noexcept {
    call(SYS_write, 2, to_long(text), static_cast<long>(bytes));
  }

  static uint64_t block_signals() noexcept {
    const uint64_t all = ~uint64_t{0};
    uint64_t before = 0;
    call(SYS_rt_sigprocmask, SIG_SETMASK, to_long(&all), to_long(&before), sizeof all);
    return before;
  }
  static void restore_signals(uint64_t mask) noexcept {
    call(SYS_rt_sigprocmask, SIG_SETMASK, to_long(&mask), 0, sizeof mask);
  }
  static void send_here(int signal) noexcept {
    call(SYS_tgkill, process_id(), static_cast<long>(thread_id()), signal);
  }

  static bool look_at_usage(ProcessUsage& found) noexcept {
    rusage usage{};
    if (call(SYS_getrusage, RUSAGE_SELF, to_long(&usage)) != 0) return false;
    found.user_ms = to_ms(usage.ru_utime);
    found.system_ms = to_ms(usage.ru_stime);
    found.resident_peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * kib;
    found.minor_faults = static_cast<uint64_t>(usage.ru_minflt);
    found.major_faults = static_cast<uint64_t>(usage.ru_majflt);
    return true;
  }

  // A kernel without Yama refuses it and needs none.
  static void admit_observers() noexcept {
    call(SYS_prctl, PR_SET_PTRACER, -1 /* PR_SET_PTRACER_ANY */);
  }

 private:
  static uint64_t to_ms(const timeval& time) noexcept {
    return static_cast<uint64_t>(time.tv_sec) * 1000 + static_cast<uint64_t>(time.tv_usec) / 1000;
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_PROCESS_HPP
