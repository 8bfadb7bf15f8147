// SPDX-License-Identifier: MIT
//
// Owns: a run of a program with a check for leaks at its end (`talus run --leak-check`).
// Invariant: the program's own exit status is passed on, unless it is 0 and blocks were lost.
// Must not know: how a program is started.

#ifndef TALUS_TOOLS_TALUS_PROFILE_LEAK_CHECK_HPP
#define TALUS_TOOLS_TALUS_PROFILE_LEAK_CHECK_HPP

#include <functional>

namespace talus::tool {

// The exit status of the command. `start` becomes the program, or returns an exit code.
int run_with_leak_check(const std::function<int()>& start);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_LEAK_CHECK_HPP
