// SPDX-License-Identifier: MIT
// os/linux/clock: the time, without entering the kernel where possible, and sleeping.
//
// Owns: where the clock is read. Contract: os/contract.hpp; never through libc, where a preloaded
// library may interpose (os/linux/vdso.hpp). Called on: any thread, at any time.
#ifndef TALUS_OS_LINUX_CLOCK_HPP
#define TALUS_OS_LINUX_CLOCK_HPP

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/base.hpp"
#include "os/linux/kernel_call.hpp"
#include "os/linux/vdso.hpp"

namespace talus::core::os {

// Where the clock is read: not known yet (0), by a system call, or at this address.
TALUS_CONSTINIT inline Atomic<uintptr_t> shared_clock;
inline constexpr uintptr_t clock_is_call = 1;

struct LinuxClock : KernelCall {
  TALUS_USUAL static uint64_t now_ms() noexcept {
    return read_clock(CLOCK_MONOTONIC_COARSE) / 1000000;
  }
  TALUS_USUAL static uint64_t now_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }
  static void sleep_us(long microseconds) noexcept {
    uint32_t word = 0;
    const timespec span{0, microseconds * 1000};
    call(SYS_futex, to_long(&word), FUTEX_WAIT_PRIVATE, 0, to_long(&span));
  }

 private:
  TALUS_USUAL static uint64_t read_clock(clockid_t clock) noexcept {
    timespec now{};
    uintptr_t function = shared_clock.load_init();  // all threads find the same
    if (TALUS_UNLIKELY(function == 0)) {
      function = reinterpret_cast<uintptr_t>(find_vdso_clock());
      if (function == 0) function = clock_is_call;
      shared_clock.store_init(function);
    }
    if (function == clock_is_call || reinterpret_cast<ClockFunction>(function)(clock, &now) != 0) {
      call(SYS_clock_gettime, clock, to_long(&now));
    }
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_CLOCK_HPP
