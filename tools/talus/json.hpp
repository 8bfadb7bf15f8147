// SPDX-License-Identifier: MIT
//
// Owns: JSON as all commands print it, by the library nlohmann-json.
// Invariant: members keep their order, and any bytes give valid UTF-8.
// Must not know: which command prints.

#ifndef TALUS_TOOLS_TALUS_JSON_HPP
#define TALUS_TOOLS_TALUS_JSON_HPP

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace talus::tool {

using Json = nlohmann::ordered_json;

// On one line. Bytes that are not UTF-8 become U+FFFD.
inline std::string one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}
// For people as well: indented.
inline std::string many_lines(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
// Not known: null.
template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_JSON_HPP
