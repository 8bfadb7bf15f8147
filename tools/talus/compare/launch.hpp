// SPDX-License-Identifier: MIT
//
// Owns: one run of the program: its start, its input and output, its end (by itself, by the timeout
// or by Ctrl-C), and its cost according to the kernel. bench/measure.c starts the benchmarks' runs.
// It stays separate: it is a static program that adds nothing to a child's peak memory, and it
// samples the mean RSS.
// Invariant: after a run no process of it is left and no zombie, not even a process in a session of
// its own. Earlier processes continue, such as the jobs of a shell that became the command.
// Must not know: allocators; runs differ only in their environment.

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
  std::string standard_input;          // a file, opened again for each run
  double timeout_s = 0;
  bool is_output_shown = false;
};

// Called every few milliseconds while the program runs, with its process id. May be empty.
using Watcher = std::function<void(pid_t)>;

Sample run_once(const Launch& launch, const std::vector<std::string>& environment,
                SignalGate& signals, const Watcher& watcher);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_LAUNCH_HPP
