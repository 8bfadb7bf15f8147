// SPDX-License-Identifier: MIT
//
// Owns: the reading of a process id from a word of the command line.
// Invariant: a word is a number from 1 on, or it is refused.
// Must not know: commands.

#ifndef TALUS_TOOLS_TALUS_PROCESS_WORD_HPP
#define TALUS_TOOLS_TALUS_PROCESS_WORD_HPP

#include <charconv>
#include <string>

namespace talus::tool {

// 0: it is no process id.
inline int process_of_word(const std::string& word) {
  int pid = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, pid);
  return read.ec == std::errc{} && read.ptr == end && pid > 0 ? pid : 0;
}

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROCESS_WORD_HPP
