// SPDX-License-Identifier: MIT
//
// Owns: what a program that is not yet started will be as a process, as far as options care: its
// environment, its names, the options it brings along.
// Invariant: looks only; starts nothing.
// Must not know: what options mean.

#ifndef TALUS_TOOLS_TALUS_FUTURE_PROCESS_HPP
#define TALUS_TOOLS_TALUS_FUTURE_PROCESS_HPP

#include <string>
#include <vector>

#include "effective_options.hpp"
#include "program.hpp"

namespace talus::tool {

// Our own environment.
std::vector<std::string> own_environment();

// The text that a program names talus_options; only what the dynamic linker sees, unless Talus is
// linked into it.
std::optional<std::string> program_text_of(const std::string& path,
                                           const std::optional<ElfFacts>& facts);

// `program` is what inspect_program said.
ProcessFacts facts_of_program(const Program& program);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_FUTURE_PROCESS_HPP
