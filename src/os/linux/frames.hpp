// SPDX-License-Identifier: MIT
// os/linux/frames: what a walk through a stack asks of the kernel.
//
// Owns: nothing. Contract: os/contract.hpp, the group frames. The kernel copies the mask of
// rt_sigprocmask before it refuses the unknown operation, so its answer says whether the mask can
// be read. Nearly all sandboxes let the call pass. Called on: any thread. Must not know: its
// callers.
#ifndef TALUS_OS_LINUX_FRAMES_HPP
#define TALUS_OS_LINUX_FRAMES_HPP

#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/linux/kernel_call.hpp"

namespace talus::core::os {

struct LinuxFrames : KernelCall {
  static constexpr bool has_frames = true;

  static bool is_readable(const void* word) noexcept {
    constexpr long unknown_operation = -1;
    const long result =
        call(SYS_rt_sigprocmask, unknown_operation, to_long(word), 0, sizeof(uint64_t));
    return result == invalid_argument;
  }
  // The kernel lays the random bytes above the first frame.
  static uintptr_t first_stack_end() noexcept { return getauxval(AT_RANDOM); }
  static uintptr_t kernel_image() noexcept { return getauxval(AT_SYSINFO_EHDR); }
  // The kernel tells where the program's segments are listed, which is behind its head.
  static uintptr_t program_image() noexcept {
    return round_down(getauxval(AT_PHDR), getauxval(AT_PAGESZ));
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_FRAMES_HPP
