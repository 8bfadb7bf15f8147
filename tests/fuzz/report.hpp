// SPDX-License-Identifier: MIT
// fuzz/report: how a failure is told.
//
// Owns: the line that says what did not hold, the journals of the threads' last calls, and gdb's
// view of all threads. Owns the watchdog and signal handlers that notice hangs and crashes.
// Allocates nothing, since what it reports is an allocator that does not work.
// Called on: any thread; the first to fail ends the process, others wait.
#ifndef TALUS_TESTS_FUZZ_REPORT_HPP
#define TALUS_TESTS_FUZZ_REPORT_HPP

#include <sys/types.h>

#include "thread.hpp"

namespace fuzz {

// The statuses of the program: a failure, and nothing to say on this machine.
constexpr int failed_status = 99;
constexpr int skipped_status = 77;

// How deep in children of forks this process is.
extern int generation;

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

// After a call that succeeded: it stored nothing in errno.
inline void expect_errno_kept(const char* call) {
  if (self().error != untouched_errno) fail("%s succeeds and errno is %d", call, self().error);
}

// A child that hangs: its threads are shown, and it is ended.
void report_hang(pid_t child);

// Crashes fail from here on; not under a mode that has handlers of its own.
void watch_for_crashes();
// A thread that notices other threads that take no step for many seconds.
void start_watchdog();
void stop_watchdog();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_REPORT_HPP
