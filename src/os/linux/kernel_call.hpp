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
    if constexpr (arch::reads_mmap_in_memory) {
      const long all[] = {a, b, c, d, e, f};
      if (number == SYS_mmap) return arch::system_call(number, to_long(all), 0, 0, 0, 0, 0);
    }
    return arch::system_call(number, a, b, c, d, e, f);
  }

  // The kernel orders the calls that change the address space. A thread's writes to pages that it
  // unmaps come before all use of new pages at the same addresses. ThreadSanitizer does not see
  // these calls, so it is told.
  static void tell_before_unmap() noexcept { TALUS_TELL_RELEASE(address_space()); }
  static void tell_after_map() noexcept { TALUS_TELL_ACQUIRE(address_space()); }

 private:
  // Only its address is used.
  inline static constexpr char address_space_ = 0;
  static void* address_space() noexcept { return const_cast<char*>(&address_space_); }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_KERNEL_CALL_HPP
