// SPDX-License-Identifier: MIT
// entry/life: the start and the end of a unit that carries Talus.
//
// Owns: a constructor and a destructor in each unit that includes it, so that every entry point has
// them. The steps behind them run once: after libc's and before the program's, and in reverse at
// the end. Allocation works before and after.
#ifndef TALUS_ENTRY_LIFE_HPP
#define TALUS_ENTRY_LIFE_HPP

#include "base/base.hpp"
#include "observe/observed_state.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {
[[gnu::constructor, gnu::used]] TALUS_START_ENTRY void unit_starts() {
  leave_observed_note();
  process_starts();
}
[[gnu::destructor, gnu::used]] TALUS_START_ENTRY void unit_ends() { process_ends(); }
}  // namespace
}  // namespace talus::core

#endif  // TALUS_ENTRY_LIFE_HPP
