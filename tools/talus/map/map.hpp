// SPDX-License-Identifier: MIT
//
// Owns: `talus map` as a function and as a line of the command.
// Invariant: see command.hpp.
// Must not know: how main.cpp reads the command line.

#ifndef TALUS_TOOLS_TALUS_MAP_MAP_HPP
#define TALUS_TOOLS_TALUS_MAP_MAP_HPP

#include <CLI/CLI.hpp>
#include <string>

#include "command.hpp"

namespace talus::tool {

struct MapRequest {
  std::string process;  // its id, or the path of its core file
  std::string output;   // -o; "-": standard output
};

void declare_map(CLI::App& app, MapRequest& wanted);

// Writes a page that shows the address space of Talus in a process.
int write_map(const MapRequest& request);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_MAP_MAP_HPP
