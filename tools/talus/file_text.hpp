// SPDX-License-Identifier: MIT
//
// Owns: the reading of a whole file whose size is not known beforehand, as those of /proc.
// Invariant: a file that goes away while it is read, as the process behind it ends, reads as
// absent; the standard streams throw there.
// Must not know: what the text means.

#ifndef TALUS_TOOLS_TALUS_FILE_TEXT_HPP
#define TALUS_TOOLS_TALUS_FILE_TEXT_HPP

#include <optional>
#include <string>

namespace talus::tool {

std::optional<std::string> text_of_file(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_FILE_TEXT_HPP
