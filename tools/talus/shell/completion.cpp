// SPDX-License-Identifier: MIT
//
// Owns, invariant, must not know: see completion.hpp.

#include "shell/completion.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "command_words.hpp"
#include "configuration/options_env.hpp"
#include "file_text.hpp"
#include "help_page.hpp"
#include "observe/memory.hpp"
#include "proc_text.hpp"

namespace talus::tool {
namespace {

using namespace core;  // the library's options

constexpr size_t what_bytes_max = 64;

// Lines whose word begins as the word at the cursor does.
class Choices {
 public:
  explicit Choices(std::string begin) : begin_(std::move(begin)) {}
  void add(const std::string& word, std::string_view what) {
    if (word.compare(0, begin_.size(), begin_) != 0) return;
    const bool fits = what.size() <= what_bytes_max;
    const size_t end = fits ? what.size() : what.rfind(' ', what_bytes_max - 3);
    text_ += fmt::format("{}\t{}{}\n", word, what.substr(0, end), fits ? "" : "...");
  }
  void add_files() { text_ += ":files\n"; }
  const std::string& begin() const { return begin_; }
  const std::string& text() const { return text_; }

 private:
  std::string begin_;
  std::string text_;
};

const CLI::App* command_of(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

void add_commands(Choices& choices, const CLI::App& app) {
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) choices.add(command->get_name(), command->get_description());
  }
}

void add_options(Choices& choices, const CLI::App& command) {
  const HelpPage page;
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      choices.add("--" + name, option->get_description());
    }
  }
}

// Each of "one|two|three".
void add_words(Choices& choices, std::string_view words, const std::string& before = "") {
  for (size_t end = 0; end != words.npos; words.remove_prefix(std::min(words.size(), end + 1))) {
    end = words.find('|');
    choices.add(before + std::string(words.substr(0, end)), "");
  }
}

// KEY= of each option of the library, and KEY=WORD where it has words.
void add_settings(Choices& choices) {
  for (const OptionRow& row : option_rows) {
    char buffer[128];
    OptionLine name(buffer, sizeof buffer);
    add_option_env_name(name, row);
    const std::string key = std::string(buffer).substr(std::string_view("TALUS_").size()) + "=";
    if (choices.begin().compare(0, key.size(), key) != 0) {
      choices.add(key, row.help.text());
      continue;
    }
    OptionLine range(buffer, sizeof buffer);
    add_option_range(range, row);
    if (row.kind == OptionKind::boolean) {
      choices.add(key + "0", "off");
      choices.add(key + "1", "on");
    } else if (row.kind == OptionKind::words) {
      add_words(choices, buffer, key);
    }
  }
}

// Processes that the user may read and that have a file of Talus.
void add_processes(Choices& choices) {
  for (const int pid : process_ids()) {
    const std::string id = std::to_string(pid);
    const std::string maps = text_of_file(memory_folder(pid) + "/maps").value_or("");
    if (maps.find("/libtalus") == maps.npos || pid == ::getpid()) continue;
    choices.add(id, process_name(id));
  }
}

// The values of this kind: an option's value or an argument.
void add_values(Choices& choices, std::string_view kind) {
  if (kind.find('|') != kind.npos && std::none_of(kind.begin(), kind.end(), ::isupper)) {
    add_words(choices, kind);
  }
  if (kind.find("KEY=VALUE") != kind.npos) add_settings(choices);
  if (kind.find("PID") != kind.npos) add_processes(choices);
  const bool is_file = kind.find("FILE") != kind.npos || kind.find("PATH") != kind.npos ||
                       kind.find("CORE") != kind.npos;
  if (is_file) choices.add_files();
}

// What the command's arguments without names may be.
std::string argument_kinds(const CLI::App& command) {
  std::string kinds;
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_positional()) kinds += option->get_type_name() + " ";
  }
  return kinds;
}

}  // namespace

std::string complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() < 2) return {};
  const std::string& last = words.back();
  Choices choices(last);
  if (words.size() == 2) {
    add_commands(choices, app);
    if (last.substr(0, 1) == "-") add_options(choices, app);
    return choices.text();
  }
  const CLI::App* const command = command_of(app, words[1]);
  if (command == nullptr) return {};
  // The word at the cursor may become the program. Only what lies before it is known.
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  size_t program = program_of(app, before);
  if (program < before.size()) {
    if (before[program] == "--") program++;
    return fmt::format(":command {}\n", program);
  }
  const std::string& previous = before.back();
  if (takes_next_word(*command, previous)) {
    add_values(choices, command->get_option_no_throw(previous)->get_type_name());
    return choices.text();
  }
  if (last.substr(0, 1) == "-") {
    add_options(choices, *command);
    return choices.text();
  }
  add_values(choices, argument_kinds(*command));
  std::vector<std::string> with_program = before;
  with_program.emplace_back("a/program");
  const bool may_be_program = program_of(app, with_program) < with_program.size();
  return choices.text() + (may_be_program ? fmt::format(":command {}\n", before.size()) : "");
}

}  // namespace talus::tool
