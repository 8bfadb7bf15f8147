// SPDX-License-Identifier: MIT
//
// Owns: `talus options --effective`. It prints the options that `talus run` with these settings
// would give a program now, as text for a configuration file or as JSON.
// Invariant: the program is not started. A wrong setting suppresses all output.
// Must not know: where options come from.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "command.hpp"
#include "future_process.hpp"
#include "json.hpp"
#include "setting.hpp"

namespace talus::tool {
namespace {

void print_text(const EffectiveOptions& found) {
  size_t width = 0;
  std::vector<std::string> settings;
  for (const EffectiveOption& option : found.options) {
    settings.push_back(printable(fmt::format("{} = {}", option.name, option.value)));
    width = std::max(width, std::min<size_t>(settings.back().size(), 40));
  }
  for (size_t i = 0; i < settings.size(); i++) {
    const bool is_comment = !found.options[i].is_for_files;
    fmt::print("{}{:<{}}  # {}\n", is_comment ? "# " : "", settings[i],
               is_comment ? width - 2 : width, printable(found.options[i].source));
  }
  for (const LookedAtFile& file : found.files)
    fmt::print("# file {}: {}\n", printable(file.path), file.state);
  for (const std::string& warning : found.warnings)
    fmt::print("# warning: {}\n", printable(warning));
}

void print_json(const std::string& program, const EffectiveOptions& found) {
  Json options = Json::array(), files = Json::array();
  for (const EffectiveOption& option : found.options) {
    options.push_back({{"name", option.name}, {"value", option.value}, {"source", option.source}});
  }
  for (const LookedAtFile& file : found.files) {
    files.push_back({{"path", file.path}, {"state", file.state}});
  }
  const Json all = {{"program", program.empty() ? Json(nullptr) : Json(program)},
                    {"options", options},
                    {"files", files},
                    {"warnings", found.warnings}};
  fmt::print("{}", many_lines(all));
}

}  // namespace

int print_effective(const EffectiveRequest& request) {
  if (!apply_settings(request.settings)) return exit_usage;
  ProcessFacts facts;
  std::string path;
  if (request.program.empty()) {
    facts.environment = own_environment();
    facts.user_id = ::geteuid();
  } else {
    const ProgramPath program = find_program(request.program.front());
    if (program.search != ProgramSearch::found) {
      const bool is_missing = program.search == ProgramSearch::missing;
      complain(fmt::format("{}: {}", program.path, is_missing ? "not found" : "not executable"));
      return is_missing ? exit_not_found : exit_not_executable;
    }
    path = program.path;
    const Program inspected = inspect_program(path);
    facts = facts_of_program(inspected);
    const std::string reason = why_not_preloadable(inspected);
    if (!reason.empty()) complain("warning: runs without Talus: " + reason);
  }
  const EffectiveOptions found = find_effective_options(facts);
  if (request.is_json) {
    print_json(path, found);
  } else {
    print_text(found);
  }
  return exit_yes;
}

}  // namespace talus::tool
