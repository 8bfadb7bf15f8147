// SPDX-License-Identifier: MIT
//
// Owns: the machine that samples were taken on, in the few words that a reader of a kept result
// needs.
// Invariant: nothing that names the owner or the place: no host name.
// Must not know: the samples.

#ifndef TALUS_TOOLS_TALUS_COMPARE_MACHINE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_MACHINE_HPP

#include <string>

namespace talus::tool {

struct Machine {
  std::string kernel;     // "Linux 6.1.0 x86_64"
  std::string processor;  // its model; empty if the kernel does not tell
  long processors = 0;    // that we may use
  double memory_kib = 0;
};

Machine this_machine();

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_MACHINE_HPP
