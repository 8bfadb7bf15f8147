// SPDX-License-Identifier: MIT
//
// Owns: the places in one process that hold memory, as its heap profile tells them.
// Invariant: names cost time, so the command spends at most a tenth of its time on them.
// Must not know: which terminal shows it.

#ifndef TALUS_TOOLS_TALUS_TOP_SITE_LOOK_HPP
#define TALUS_TOOLS_TALUS_TOP_SITE_LOOK_HPP

#include <chrono>

#include "top/detail.hpp"

namespace talus::tool {

class SiteLook {
 public:
  const DetailLines& lines_of(int pid);

 private:
  using Clock = std::chrono::steady_clock;
  int pid_ = 0;
  Clock::time_point again_;
  DetailLines lines_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_SITE_LOOK_HPP
