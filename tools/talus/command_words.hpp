// SPDX-License-Identifier: MIT
//
// Owns: which words of a command line belong to `talus` and which to the program that it starts.
// Invariant: the cut comes before the parser, and follows the options that a command declares.
// Must not know: what the words mean.

#ifndef TALUS_TOOLS_TALUS_COMMAND_WORDS_HPP
#define TALUS_TOOLS_TALUS_COMMAND_WORDS_HPP

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace talus::tool {

struct CommandLine {
  std::vector<std::string> ours;
  std::vector<char*> program;
  std::vector<std::string> all;
};

CommandLine cut(const CLI::App& app, const std::vector<char*>& words);

// Where the program begins in `talus COMMAND ...`, or where "--" stands before it; as many as there
// are words: nowhere.
size_t program_of(const CLI::App& app, const std::vector<std::string>& words);

// Whether the word after `word` is its value, according to the option's declaration.
bool takes_next_word(const CLI::App& command, const std::string& word);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMMAND_WORDS_HPP
