// SPDX-License-Identifier: MIT
//
// Owns: what may stand where the cursor is, for the shells' completion (completion/*).
// Answer: lines of "WORD<tab>what it is". ":files": names of files too. ":command N": the words
// from N on, counted from 0, are a command line of their own.
// Invariant: every word comes from a declaration of a command or from the table of options.
// Must not know: which shell asks, which commands exist.

#ifndef TALUS_TOOLS_TALUS_SHELL_COMPLETION_HPP
#define TALUS_TOOLS_TALUS_SHELL_COMPLETION_HPP

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace talus::tool {

// `words`: those of the line from `talus` on, up to the cursor; the last one may be a part.
std::string complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SHELL_COMPLETION_HPP
