// SPDX-License-Identifier: MIT
// os/reporting_thread: the thread that reported a fault of the program.
//
// It may be running the program's handler of SIGABRT, and holds the locks that it held at the
// fault. So a wait of this thread for a lock must end (os/contract.hpp: futex_wait).
// Owns: the id of that thread, and how long it waits. Called on: any thread.
#ifndef TALUS_OS_REPORTING_THREAD_HPP
#define TALUS_OS_REPORTING_THREAD_HPP

#include "base/base.hpp"

namespace talus::core::os {

// 0: no thread did.
TALUS_CONSTINIT inline Atomic<uint32_t> reporting_thread;
// How long its handler may wait for a lock. A holder that needs longer will never unlock.
inline constexpr uint64_t report_patience_ms = 5000;

}  // namespace talus::core::os

#endif  // TALUS_OS_REPORTING_THREAD_HPP
