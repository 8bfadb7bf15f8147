// SPDX-License-Identifier: MIT
//
// Owns: what is told of a kernel, an emulator or a sandbox whose answers are not true.
// Invariant: asks for pages of this command alone.
// Must not know: which process is looked at.

#ifndef TALUS_TOOLS_TALUS_KERNEL_ANSWERS_HPP
#define TALUS_TOOLS_TALUS_KERNEL_ANSWERS_HPP

namespace talus::tool {

// Prints a note where purged pages do not read as zero for this command. The library proves the
// same in each process, and gives no memory back there.
void print_kernel_answers();

}  // namespace talus::tool

#endif
