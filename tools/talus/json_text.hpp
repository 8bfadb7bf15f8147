// SPDX-License-Identifier: MIT
//
// Owns: the JSON form of a text, for each command that prints JSON.
// Invariant: the result is a valid JSON string for any bytes.
// Must not know: what the text means.

#ifndef TALUS_TOOLS_TALUS_JSON_TEXT_HPP
#define TALUS_TOOLS_TALUS_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace talus::tool {

// Includes the quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_JSON_TEXT_HPP
