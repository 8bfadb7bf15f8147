// SPDX-License-Identifier: MIT
//
// Owns: `talus top` on a terminal.
// Invariant: the terminal is as it was when the command ends, also by a signal.
// Must not know: how processes are read.

#ifndef TALUS_TOOLS_TALUS_TOP_SCREEN_HPP
#define TALUS_TOOLS_TALUS_TOP_SCREEN_HPP

#include <string>

#include "top/state.hpp"

namespace talus::tool {

// Returns an exit code.
int run_screen(const TopOrder& order, const std::string& filter, double every_s);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_SCREEN_HPP
