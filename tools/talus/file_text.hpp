// SPDX-License-Identifier: MIT
//
// Owns: the reading of a whole file of unknown size, such as a file in /proc.
// Invariant: a file that disappears during the read, as its process ends, reads as absent. The
// standard streams throw in this case.
// Must not know: what the text means.

#ifndef TALUS_TOOLS_TALUS_FILE_TEXT_HPP
#define TALUS_TOOLS_TALUS_FILE_TEXT_HPP

#include <optional>
#include <string>

namespace talus::tool {

std::optional<std::string> text_of_file(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_FILE_TEXT_HPP
