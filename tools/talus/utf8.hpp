// SPDX-License-Identifier: MIT
//
// Owns: making any bytes fit for a JSON or HTML file. Arguments and paths may hold bytes that are
// not UTF-8, and neither format allows these.
// Invariant: valid UTF-8 without control characters stays unchanged.
// Must not know: quoting, which differs between the formats.

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
