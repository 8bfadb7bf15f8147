// SPDX-License-Identifier: MIT
//
// Owns: one run of the program: its start, its input and output, its end by itself, by the clock or
// by Ctrl-C, and what the kernel charged it for.
// Invariant: when a run returns, no process of it is left, nor any zombie; also those are ended
// that the program left behind or that moved to a session of their own. What was there before it,
// as the jobs of a shell that became the command, goes on.
// Must not know: allocators; an environment is all that makes runs differ.

#ifndef TALUS_TOOLS_TALUS_COMPARE_LAUNCH_HPP
#define TALUS_TOOLS_TALUS_COMPARE_LAUNCH_HPP

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "samples.hpp"
#include "signal_gate.hpp"

namespace talus::tool {

struct Launch {
  std::string path;                    // of the program
  std::vector<std::string> arguments;  // from argv[0] on
  std::string standard_input;          // a file, opened anew for each run
  double timeout_s = 0;
  bool is_output_shown = false;
};

// Called every few milliseconds while the program runs, with its process id; may be empty.
using Watcher = std::function<void(pid_t)>;

Sample run_once(const Launch& launch, const std::vector<std::string>& environment,
                SignalGate& signals, const Watcher& watcher);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_LAUNCH_HPP
