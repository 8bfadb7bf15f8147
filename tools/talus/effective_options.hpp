// SPDX-License-Identifier: MIT
//
// Owns: the list of options in effect for a given environment, as `talus check` shows it.
// Invariant: computed by the parser that runs inside libtalus.so, so list and library agree.
// Must not know: whose environment it is.

#ifndef TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP
#define TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP

#include <string>
#include <vector>

namespace talus::tool {

// One line per option, then one per mistake in the environment.
void print_effective_options(const std::vector<std::string>& environment);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP
