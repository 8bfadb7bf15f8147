// SPDX-License-Identifier: MIT
//
// Owns: the description of the machine of the samples, as short as a reader of a kept result needs.
// Invariant: contains no host name, so nothing names the owner or the place.
// Must not know: the samples.

#ifndef TALUS_TOOLS_TALUS_COMPARE_MACHINE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_MACHINE_HPP

#include <string>

namespace talus::tool {

struct Machine {
  std::string kernel;     // "Linux 6.1.0 x86_64"
  std::string processor;  // its model; empty if the kernel does not report it
  long processors = 0;    // available to this process
  double memory_kib = 0;
};

Machine this_machine();

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_MACHINE_HPP
