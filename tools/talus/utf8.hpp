// SPDX-License-Identifier: MIT
//
// Owns: making any bytes fit for a JSON or HTML file: arguments and paths may hold bytes that are
// no UTF-8, and neither format can carry those.
// Invariant: valid UTF-8 without control characters stays as it is.
// Must not know: quoting, which each format does its own way.

#ifndef TALUS_TOOLS_TALUS_UTF8_HPP
#define TALUS_TOOLS_TALUS_UTF8_HPP

#include <string>
#include <string_view>

namespace talus::tool {

// The length of the valid sequence that `text` starts with; 0: there is none.
size_t utf8_length(std::string_view text);

// Each byte that fits no sequence becomes U+FFFD.
std::string as_utf8(std::string_view text);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_UTF8_HPP
