// SPDX-License-Identifier: MIT
//
// Owns: the KEY=VALUE words of the command line. The parser of libtalus.so judges them, so the
// command and the library accept the same words.
// Invariant: a word becomes an environment variable with the option's exact name, or one line that
// states the mistake. Nothing is guessed.
// Must not know: which program the settings are for.

#ifndef TALUS_TOOLS_TALUS_SETTING_HPP
#define TALUS_TOOLS_TALUS_SETTING_HPP

#include <string>
#include <string_view>
#include <vector>

namespace talus::tool {

struct Setting {
  std::string name;   // TALUS_DECAY_MS
  std::string value;  // as written
  std::string error;  // one line; empty: the setting is good
};

// A letter or underscore, then letters, digits and underscores, then '='. Other words before the
// program are the program: `./a=b` has a slash and is a path.
bool looks_like_setting(std::string_view word);

// Accepts KEY in any case, with or without TALUS_.
Setting parse_setting(std::string_view word);

// Puts settings into this command's environment, for the program or query that follows. Reports all
// mistakes; returns false if there was one.
bool apply_settings(const std::vector<std::string>& words);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SETTING_HPP
