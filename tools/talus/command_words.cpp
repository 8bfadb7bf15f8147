// SPDX-License-Identifier: MIT
//
// Owns, invariant, must not know: see command_words.hpp.

#include "command_words.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "setting.hpp"

namespace talus::tool {
namespace {

constexpr std::string_view with_program[] = {"run", "options", "check", "compare"};

}  // namespace

bool takes_next_word(const CLI::App& command, const std::string& word) {
  const CLI::Option* const option =
      word.substr(0, 1) == "-" ? command.get_option_no_throw(word) : nullptr;
  return option != nullptr && option->get_items_expected_min() > 0;
}

// `run [options and KEY=VALUE] [--] program args...` and `compare [options] [--] program args...`:
// the program is the first word that is neither an option nor a setting. Settings exist only in
// commands that declare them. In `check [options] PID
// -- program args...`, only "--" ends the command's words.
size_t program_of(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string name = words.size() > 1 ? words[1] : "";
  if (std::find(std::begin(with_program), std::end(with_program), name) == std::end(with_program)) {
    return words.size();
  }
  const CLI::App& command = *app.get_subcommand(name);
  const bool has_settings = command.get_option_no_throw("settings") != nullptr;
  const bool needs_parting = command.get_option_no_throw("pid") != nullptr;
  for (size_t i = 2; i < words.size(); i++) {
    const std::string& word = words[i];
    if (word == "--") return i;
    const bool is_ours =
        needs_parting || word.substr(0, 1) == "-" || (has_settings && looks_like_setting(word));
    if (!is_ours) return i;
    if (takes_next_word(command, word)) i++;
  }
  return words.size();
}

CommandLine cut(const CLI::App& app, const std::vector<char*>& words) {
  CommandLine line;
  line.all.assign(words.begin(), words.end());
  size_t end = program_of(app, line.all);
  // What the shells ask about has no meaning for this command.
  if (line.all.size() > 2 && line.all[1] == "complete" && line.all[2] == "--") end = 2;
  if (!line.all.empty()) line.ours.assign(line.all.begin() + 1, line.all.begin() + end);
  if (end < words.size() && line.all[end] == "--") end++;
  line.program.assign(words.begin() + end, words.end());
  return line;
}

}  // namespace talus::tool
