// SPDX-License-Identifier: MIT
//
// Owns: how a text stands in JSON, for each command that prints some.
// Invariant: the result is a valid JSON string whatever bytes the text holds.
// Must not know: what the text says.

#ifndef TALUS_TOOLS_TALUS_JSON_TEXT_HPP
#define TALUS_TOOLS_TALUS_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace talus::tool {

// With its quotes; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_JSON_TEXT_HPP
