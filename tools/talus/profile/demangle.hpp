// SPDX-License-Identifier: MIT
//
// Owns: names of functions as their programmers wrote them, from the symbols of C++ and Rust.
// Invariant: a name that is no such symbol comes back as it is.
// Must not know: where symbols are found.

#ifndef TALUS_TOOLS_TALUS_PROFILE_DEMANGLE_HPP
#define TALUS_TOOLS_TALUS_PROFILE_DEMANGLE_HPP

#include <string>

namespace talus::tool {

// Names of Rust need libiberty; a command that was built without it leaves them.
std::string demangled(const std::string& symbol);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_DEMANGLE_HPP
