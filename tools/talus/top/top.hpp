// SPDX-License-Identifier: MIT
//
// Owns: `talus top` as a function and as a line of the command.
// Invariant: see command.hpp.
// Must not know: how main.cpp reads the command line.

#ifndef TALUS_TOOLS_TALUS_TOP_TOP_HPP
#define TALUS_TOOLS_TALUS_TOP_TOP_HPP

#include <CLI/CLI.hpp>
#include <string>

#include "command.hpp"

namespace talus::tool {

struct TopRequest {
  bool is_once = false;
  bool is_batch = false;
  double every_s = 1;
  std::string sort = "rss";
  std::string filter;  // only names that contain it
};

void declare_top(CLI::App& app, TopRequest& wanted);

// Shows all processes on Talus.
int run_top(const TopRequest& request);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_TOP_HPP
