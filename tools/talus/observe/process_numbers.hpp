// SPDX-License-Identifier: MIT
//
// Owns: process.* of another process, from /proc; and why a process cannot be read.
// Invariant: only reads. A number that the kernel does not tell is unknown.
// Must not know: heaps.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_PROCESS_NUMBERS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_PROCESS_NUMBERS_HPP

#include <string>

#include "observe/numbers.hpp"

namespace talus::tool {

// Fills in process.*, but for the time since the start. `folder`: of a thread that has memory.
void read_process(int pid, const std::string& folder, Numbers& numbers);
// `started_ns` by the monotonic clock; 0: not known.
void set_uptime(uint64_t started_ns, Numbers& numbers);

// One line: why the kernel refuses this command the process's memory.
std::string why_refused(int pid);

// The process whose memory this one shares, as the child of vfork does; 0: none. `thread`: of the
// process, with memory.
int shares_memory_with(int pid, int thread);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_PROCESS_NUMBERS_HPP
