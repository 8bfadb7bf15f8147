// SPDX-License-Identifier: MIT
//
// Owns: the form of a subcommand that declares its own words, in a file of its own.
// Invariant: one add_... for each, and main.cpp calls them all.
// Must not know: what subcommands do.

#ifndef TALUS_TOOLS_TALUS_SUBCOMMAND_HPP
#define TALUS_TOOLS_TALUS_SUBCOMMAND_HPP

#include <CLI/CLI.hpp>
#include <functional>

namespace talus::tool {

struct Subcommand {
  CLI::App* words = nullptr;
  std::function<int()> run;  // returns the exit code
};

Subcommand add_why(CLI::App& app);
Subcommand add_map(CLI::App& app);
Subcommand add_top(CLI::App& app);
Subcommand add_ctl(CLI::App& app);
Subcommand add_serve(CLI::App& app);
Subcommand add_profile(CLI::App& app);
Subcommand add_leak(CLI::App& app);
Subcommand add_explain(CLI::App& app);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SUBCOMMAND_HPP
