// SPDX-License-Identifier: MIT
//
// Owns: the check of UTF-8, see utf8.hpp.
// Invariant: overlong forms, surrogates and numbers above U+10FFFF are not characters.
// Must not know: quoting.

#include "utf8.hpp"

#include <cstdint>

namespace talus::tool {

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc0 ? 2 : 0;
  if (length == 0 || text.size() < length || byte(0) > 0xf4) return 0;
  uint32_t number = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    number = (number << 6) | (byte(i) & 0x3f);
  }
  static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = number >= 0xd800 && number <= 0xdfff;
  return number < least[length] || is_surrogate || number > 0x10ffff ? 0 : length;
}

std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    result += length != 0 ? text.substr(0, length) : "\xef\xbf\xbd";
    text.remove_prefix(length != 0 ? length : 1);
  }
  return result;
}

}  // namespace talus::tool
