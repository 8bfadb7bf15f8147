// SPDX-License-Identifier: MIT
//
// Owns: the one way in which the command complains, and the cleaning of text that others wrote.
// Invariants: a complaint is one line, and nothing in it can steer a terminal; where nobody can
// read it, nothing else changes.
// Must not know: which subcommand runs.

#include <fmt/format.h>

#include <cstdio>

#include "command.hpp"

namespace talus::tool {

std::string printable(std::string text) {
  for (char& letter : text) {
    const unsigned char byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7f) letter = '?';
  }
  return text;
}

void complain(const std::string& line) {
  std::fputs(fmt::format("talus: {}\n", printable(line)).c_str(), stderr);
}

}  // namespace talus::tool
