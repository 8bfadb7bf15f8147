// SPDX-License-Identifier: MIT
//
// Owns: the KEY=VALUE words of the command line, judged by the very parser that runs inside
// libtalus.so, so that what is accepted here is accepted there.
// Invariant: a word either becomes an environment variable with the option's exact name, or one
// line that says what is wrong; nothing is guessed.
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

// A letter or underscore, letters, digits and underscores, then '='. Anything else before the
// program is the program: `./a=b` has a slash and is a path.
bool looks_like_setting(std::string_view word);

// KEY in any case, with or without TALUS_.
Setting parse_setting(std::string_view word);

// Puts settings into our own environment, for what is started or asked about next. All mistakes are
// told, not only the first; false: there was one.
bool apply_settings(const std::vector<std::string>& words);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SETTING_HPP
