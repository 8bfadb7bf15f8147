// SPDX-License-Identifier: MIT
//
// Owns: a program that is started as a child and stops at its exit, while its memory is whole.
// Invariant: its exit status, its signals and its stops are as without it. Its children are not
// watched.
// Must not know: what is read at its exit.

#ifndef TALUS_TOOLS_TALUS_PROFILE_EXIT_WATCH_HPP
#define TALUS_TOOLS_TALUS_PROFILE_EXIT_WATCH_HPP

#include <cstdint>
#include <functional>

namespace talus::tool {

struct ExitMoment {
  int pid = 0;
  int status = 0;          // as of wait()
  uint64_t stack_top = 0;  // of the first thread; what lies below is no longer in use. 0: not known
  uint64_t registers[32]{};
};

struct Watched {
  int code = 0;              // as a shell tells it: 128 and more for a signal
  bool has_stopped = false;  // at_exit was called
};

// `start` becomes the program, or returns an exit code. `at_exit` reads the stopped process.
// Nothing was started if `code` is negative.
Watched watch_until_exit(const std::function<int()>& start,
                         const std::function<void(const ExitMoment&)>& at_exit);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_EXIT_WATCH_HPP
