// SPDX-License-Identifier: MIT
//
// Owns: the call of the library's own option code for another process, see effective_options.hpp.
// Invariant: nothing here decides which source of an option takes precedence.
// Must not know: processes.

#include "effective_options.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "configuration/configuration.hpp"

namespace talus::tool {

using namespace core;  // the library's options
namespace {

// The sink is a plain function, so it collects its lines here. Only the main thread exists.
std::vector<std::string> warnings;

void gather_warning(const char* line) { warnings.emplace_back(line); }

const char* state_of(OptionFile file) {
  switch (file) {
    case OptionFile::not_asked:
      return "not asked for";
    case OptionFile::absent:
      return "absent, or it cannot be opened";
    case OptionFile::no_file:
      return "left out: no regular file";
    case OptionFile::not_trusted:
      return "left out: it belongs to another user, or others can write it";
    case OptionFile::read:
      return "read";
  }
  return "";
}

void add_file(std::vector<LookedAtFile>& files, const std::string& path, OptionFile state) {
  if (state != OptionFile::not_asked) files.push_back({path, state_of(state)});
}

// A file can lose the end of a text value: a comment, blanks, or bytes that are not text.
bool can_stand_in_file(const OptionRow& row, const std::string& value) {
  const TextPart whole{value.data(), value.size()};
  return row.id != OptionId::config && printable(value) == value &&
         without_blanks(without_comment(whole)).length == whole.length;
}

}  // namespace

EffectiveOptions find_effective_options(const ProcessFacts& process) {
  std::vector<const char*> variables;
  for (const std::string& variable : process.environment) variables.push_back(variable.c_str());
  variables.push_back(nullptr);
  ConfigurationFacts facts;
  facts.environment = variables.data();
  facts.program_text = process.program_text ? process.program_text->c_str() : nullptr;
  facts.called_as = process.called_as.empty() ? nullptr : process.called_as.c_str();
  facts.file = process.file.c_str();
  facts.root = process.root.c_str();
  facts.user_id = process.user_id;
  facts.is_secure = process.is_secure;

  Options options;
  OptionOrigins origins;
  warnings.clear();
  const ConfigurationResult result =
      configure(facts, OptionTarget{options, origins}, gather_warning);

  EffectiveOptions found;
  for (const OptionRow& row : option_rows) {
    char value[option_text_bytes_max];
    char source[2 * option_text_bytes_max];
    format_option_value(options, row, value, sizeof value);
    OptionLine line(source, sizeof source);
    add_option_origin(line, origins[row.id], options);
    found.options.push_back({row.name.text(), value, source, can_stand_in_file(row, value)});
  }
  add_file(found.files, facts.system_file, result.system_file);
  if (result.own.folder != nullptr) {
    add_file(found.files, std::string(result.own.folder) + result.own.name, result.own_file);
  }
  found.warnings = warnings;
  return found;
}

void print_effective_options(const ProcessFacts& facts) {
  const EffectiveOptions found = find_effective_options(facts);
  for (const EffectiveOption& option : found.options) {
    fmt::print("option {}={} ({})\n", option.name, printable(option.value),
               printable(option.source));
  }
  for (const std::string& warning : found.warnings) fmt::print("warning: {}\n", printable(warning));
}

}  // namespace talus::tool
