// SPDX-License-Identifier: MIT
//
// Owns: `talus why` as a function and as a line of the command.
// Invariant: see command.hpp.
// Must not know: how main.cpp reads the command line.

#ifndef TALUS_TOOLS_TALUS_WHY_WHY_HPP
#define TALUS_TOOLS_TALUS_WHY_WHY_HPP

#include <CLI/CLI.hpp>
#include <string>

#include "command.hpp"

namespace talus::tool {

struct WhyRequest {
  std::string process;  // its id, or the path of its core file
  bool is_json = false;
};

void declare_why(CLI::App& app, WhyRequest& wanted);

// Prints where the resident memory of a process is, and what would help.
int print_why(const WhyRequest& request);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_WHY_WHY_HPP
