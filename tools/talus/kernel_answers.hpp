// SPDX-License-Identifier: MIT
//
// Owns: the note about a kernel, emulator or sandbox that answers wrongly.
// Invariant: tests only pages of this command.
// Must not know: which process is inspected.

#ifndef TALUS_TOOLS_TALUS_KERNEL_ANSWERS_HPP
#define TALUS_TOOLS_TALUS_KERNEL_ANSWERS_HPP

namespace talus::tool {

// Prints a note if purged pages do not read as zero for this command. The library makes the same
// test in each process, and purges no pages where it fails.
void print_kernel_answers();

}  // namespace talus::tool

#endif
