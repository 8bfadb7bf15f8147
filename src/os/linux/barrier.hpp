// SPDX-License-Identifier: MIT
// os/linux/barrier: a barrier that all running threads of the process execute (Linux 4.14).
//
// Owns: nothing. Contract: os/contract.hpp. The first call registers the process, which may take
// tens of milliseconds when there are other threads. Called on: the background thread.
#ifndef TALUS_OS_LINUX_BARRIER_HPP
#define TALUS_OS_LINUX_BARRIER_HPP

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/linux/kernel_call.hpp"

namespace talus::core::os {

struct LinuxBarrier : KernelCall {
  static constexpr bool has_barrier = true;

  TALUS_USUAL static bool order_threads() noexcept {
    constexpr long not_registered = -1;  // EPERM
    const long result = order();
    if (result != not_registered) return result == 0;
    const long registered = call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    return registered == 0 && order() == 0;
  }

 private:
  static long order() noexcept {
    return call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_BARRIER_HPP
