// SPDX-License-Identifier: MIT
//
// Owns: the printing of options in effect, see effective_options.hpp.
// Invariant: a value is marked "set" exactly when the environment changed it or confirmed it.
// Must not know: processes.

#include "effective_options.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "process/options_env.hpp"

namespace talus::tool {
namespace {

// The sink is a plain function, so its lines gather here; only main's thread exists.
std::vector<std::string> warnings;

void gather_warning(const char* line) { warnings.emplace_back(line); }

// Each variable alone, to learn whether it is this row's and good. The first of a name counts.
bool is_set(const std::vector<std::string>& environment, const OptionRow& row) {
  char name[64];
  OptionLine line(name, sizeof name);
  add_option_env_name(line, row);
  line.add("=");
  for (const std::string& variable : environment) {
    if (variable.rfind(name, 0) != 0) continue;
    const char* const single[] = {variable.c_str(), nullptr};
    Options scratch;
    return parse_options(single, scratch, nullptr).accepted == 1;
  }
  return false;
}

}  // namespace

void print_effective_options(const std::vector<std::string>& environment) {
  std::vector<const char*> variables;
  for (const std::string& variable : environment)
    variables.push_back(variable.c_str());
  variables.push_back(nullptr);
  warnings.clear();
  Options options;
  static_cast<void>(parse_options(variables.data(), options, gather_warning));
  for (const OptionRow& row : option_rows) {
    char value[option_text_bytes_max];
    format_option_value(options, row, value, sizeof value);
    fmt::print("option {}={} ({})\n", row.name, printable(value),
               is_set(environment, row) ? "set" : "default");
  }
  for (const std::string& warning : warnings)
    fmt::print("warning: {}\n", warning);
}

}  // namespace talus::tool
