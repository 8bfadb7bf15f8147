// SPDX-License-Identifier: MIT
//
// Owns: the interruption of one sleeping thread, by PTRACE_SEIZE and PTRACE_INTERRUPT.
// Invariant: the thread gets no signal and goes on at once, also if this command is killed in the
// middle: the kernel detaches a tracer that ends. No other thread of the process is touched.
// Must not know: what the thread does next.

#ifndef TALUS_TOOLS_TALUS_CONTROL_WAKE_HPP
#define TALUS_TOOLS_TALUS_CONTROL_WAKE_HPP

namespace talus::tool {

// The number of a process's thread in this command's namespace; 0: there is none. `own_id` is its
// number in the namespace of the process. Never the first thread.
int thread_of(int pid, unsigned own_id);

// Lets a thread return from its sleep. False: it is gone, or another process traces it.
bool interrupt_thread(int thread);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_CONTROL_WAKE_HPP
