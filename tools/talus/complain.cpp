// SPDX-License-Identifier: MIT
//
// Owns: complaints, and the cleaning of foreign text.
// Invariants: a complaint is one line and contains no control character. A closed stderr changes
// nothing else.
// Must not know: which subcommand runs.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "command.hpp"
#include "utf8.hpp"

namespace talus::tool {

// Replaces the control characters of ASCII and of Latin-1, as UTF-8 (after 0xc2) and as bare bytes.
std::string printable(std::string text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text.substr(at, 4)), 1);
    const unsigned char byte = static_cast<unsigned char>(text[at]);
    const unsigned char last = static_cast<unsigned char>(text[at + length - 1]);
    const bool is_high_control = last >= 0x80 && last < 0xa0 && (length == 1 || byte == 0xc2);
    const bool is_control = byte < 0x20 || byte == 0x7f || is_high_control;
    result += is_control ? "?" : text.substr(at, length);
    at += length;
  }
  return result;
}

void complain(const std::string& line) {
  std::fputs(fmt::format("talus: {}\n", printable(line)).c_str(), stderr);
}

}  // namespace talus::tool
