// SPDX-License-Identifier: MIT
// os/order_calls: a barrier that all running threads of the process execute.
//
// Contract: order_threads() puts a full memory barrier into each thread of the process, between two
// of its instructions, before it returns. The caller then sees what a thread stored before its
// barrier; after it, the thread sees what the caller stored before the call. False: the kernel has
// none (before Linux 4.14), or refuses. Only where rare_calls.hpp allows it. The first call
// registers the process, which may take tens of milliseconds when there are other threads; so no
// lock may be held.
// Called on: the background thread.
#ifndef TALUS_OS_ORDER_CALLS_HPP
#define TALUS_OS_ORDER_CALLS_HPP

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/clock_calls.hpp"

namespace talus::core::os {

struct OrderCalls : ClockCalls {
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

#endif  // TALUS_OS_ORDER_CALLS_HPP
