// SPDX-License-Identifier: MIT
//
// Owns: the escapes that JSON requires.
// Invariant: characters outside ASCII stay unchanged.
// Must not know: which command prints.

#include "json_text.hpp"

#include <fmt/format.h>

#include "utf8.hpp"

namespace talus::tool {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char letter : as_utf8(text)) {
    const unsigned char byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += {'\\', letter};
    } else if (byte < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

}  // namespace talus::tool
