// SPDX-License-Identifier: MIT
//
// Owns: the properties of a future process that decide its options: its environment, its names and
// its built-in options.
// Invariant: only reads; starts nothing.
// Must not know: what options mean.

#ifndef TALUS_TOOLS_TALUS_FUTURE_PROCESS_HPP
#define TALUS_TOOLS_TALUS_FUTURE_PROCESS_HPP

#include <string>
#include <vector>

#include "effective_options.hpp"
#include "program.hpp"

namespace talus::tool {

// The environment of this command.
std::vector<std::string> own_environment();

// The text of the program's symbol talus_options. Only symbols visible to the dynamic linker count,
// unless Talus is linked into the program.
std::optional<std::string> program_text_of(const std::string& path,
                                           const std::optional<ElfFacts>& facts);

// `program` is a result of inspect_program.
ProcessFacts facts_of_program(const Program& program);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_FUTURE_PROCESS_HPP
