// SPDX-License-Identifier: MIT
// os/linux/kernel_call: how the classes of this folder call the kernel.
//
// Owns: nothing. Contract: as arch::system_call; omitted arguments are zero. Called on: any thread.
// Must not know: what is called.
#ifndef TALUS_OS_LINUX_KERNEL_CALL_HPP
#define TALUS_OS_LINUX_KERNEL_CALL_HPP

#include <sys/syscall.h>

#include "base/base.hpp"
#include "arch/arch.hpp"

namespace talus::core::os {

struct KernelCall {
  // Negated error numbers.
  static constexpr long not_permitted = -1, no_entry = -2, interrupted = -4, try_again = -11,
                        no_memory = -12, there_is_one = -17, invalid_argument = -22,
                        file_too_long = -27, broken_pipe = -32, no_such_call = -38,
                        not_supported = -95, timed_out = -110;

  // The present limit of a resource (RLIMIT_...); the largest number: unlimited, or the kernel does
  // not say.
  static uint64_t resource_limit(int resource) noexcept {
    uint64_t limits[2] = {~uint64_t{0}, 0};  // present, and maximum
    call(SYS_prlimit64, 0, resource, 0, to_long(limits));
    return limits[0];
  }

 protected:
  static long to_long(const void* at) noexcept { return reinterpret_cast<long>(at); }
  static bool is_error(long result) noexcept { return result < 0 && result >= -4095; }
  static long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                   long f = 0) noexcept {
    return arch::system_call(number, a, b, c, d, e, f);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_KERNEL_CALL_HPP
