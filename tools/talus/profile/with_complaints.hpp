// SPDX-License-Identifier: MIT
//
// Owns: what becomes of exceptions while a process or a core file is read.
// Invariant: each failure is one line on standard error and an exit status.
// Must not know: what is read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_WITH_COMPLAINTS_HPP
#define TALUS_TOOLS_TALUS_PROFILE_WITH_COMPLAINTS_HPP

#include <functional>
#include <string>

namespace talus::tool {

// Returns what `read` returns. What it throws becomes a line, after `command` and `word`, and an
// exit status. A library that does not have what is read is said to have no `feature`.
int with_complaints(const std::string& command, const std::string& word, const std::string& feature,
                    const std::function<int()>& read);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_WITH_COMPLAINTS_HPP
