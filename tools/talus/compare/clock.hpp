// SPDX-License-Identifier: MIT
//
// Owns: the clock of the measurements. It never jumps and is the same in all processes.
// Invariant: seconds since an unknown moment; only differences have a meaning.
// Must not know: what is measured.

#ifndef TALUS_TOOLS_TALUS_COMPARE_CLOCK_HPP
#define TALUS_TOOLS_TALUS_COMPARE_CLOCK_HPP

#include <ctime>

namespace talus::tool {

inline double now_s() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_CLOCK_HPP
