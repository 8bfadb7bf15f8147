// SPDX-License-Identifier: MIT
//
// Owns: what the terminal behind stdout can show, and bars made of characters.
// Invariant: no colour and no control character unless stdout is a terminal that wants them.
// Must not know: what is shown.

#ifndef TALUS_TOOLS_TALUS_TERMINAL_HPP
#define TALUS_TOOLS_TALUS_TERMINAL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace talus::tool {

struct Terminal {
  bool has_colour = false;
  bool has_unicode = false;
  size_t columns = 80;
};

// Of stdout and the environment: the locale, TERM, NO_COLOR, COLUMNS.
Terminal this_terminal();

// `text` in a colour of ECMA-48, as "1;32"; unchanged without colours.
std::string coloured(const Terminal& terminal, const char* colour, const std::string& text);

// A bar of at most `cells` characters, for the share `part` of `all`. Never empty for a part.
std::string bar_of(const Terminal& terminal, uint64_t part, uint64_t all, size_t cells);

// One character for each value, its height by the largest.
std::string spark_of(const Terminal& terminal, std::span<const uint64_t> values);

// "12.3 MiB"
std::string as_size(uint64_t bytes);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TERMINAL_HPP
