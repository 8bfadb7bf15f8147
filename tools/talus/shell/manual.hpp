// SPDX-License-Identifier: MIT
//
// Owns: the manual pages, in the language of man(7), made from what the commands declare.
// Invariant: a page has nothing that `--help` and the table of options do not have.
// Must not know: which commands exist.

#ifndef TALUS_TOOLS_TALUS_SHELL_MANUAL_HPP
#define TALUS_TOOLS_TALUS_SHELL_MANUAL_HPP

#include <CLI/CLI.hpp>
#include <string>

namespace talus::tool {

// The page of a command: talus-stats(1). Empty: talus(1), of all commands.
std::string manual_page(const CLI::App& app, const std::string& command);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SHELL_MANUAL_HPP
