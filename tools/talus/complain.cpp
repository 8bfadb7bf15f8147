// SPDX-License-Identifier: MIT
//
// Owns: the one way in which the command complains, and the cleaning of text that others wrote.
// Invariants: a complaint is one line, and nothing in it can steer a terminal; where nobody can
// read it, nothing else changes.
// Must not know: which subcommand runs.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "command.hpp"
#include "utf8.hpp"

namespace talus::tool {

// Beside the controls of ASCII those of Latin-1, as UTF-8 (0xc2 in front) and as bare bytes.
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
