// SPDX-License-Identifier: MIT
//
// Owns: `talus options` (a table, Markdown for docs/options.md, or JSON for programs) and `talus
// version`.
// Invariant: all text about an option comes from its row in settings/options.hpp.
// Must not know: values in effect, processes.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "command.hpp"
#include "elf_file.hpp"
#include "json.hpp"
#include "library.hpp"
#include "configuration/options_env.hpp"

namespace talus::tool {

using namespace core;  // the library's options
namespace {

std::string env_name(const OptionRow& row) {
  char buffer[64];
  OptionLine line(buffer, sizeof buffer);
  add_option_env_name(line, row);
  return buffer;
}

std::string default_value(const OptionRow& row) {
  char buffer[option_text_bytes_max];
  const Options options;
  format_option_value(options, row, buffer, sizeof buffer);
  return buffer;
}

std::string range_of(const OptionRow& row) {
  char buffer[128];
  OptionLine line(buffer, sizeof buffer);
  add_option_range(line, row);
  return buffer;
}

std::string_view kind_of(const OptionRow& row) {
  switch (row.kind) {
    case OptionKind::number:
      return "number";
    case OptionKind::amount:
      return "amount";
    case OptionKind::boolean:
      return "boolean";
    case OptionKind::text:
      return "text";
    case OptionKind::words:
      return "word";
    case OptionKind::provider:
      return "provider";
    case OptionKind::fill:
      return "fill";
  }
  return "";
}

std::string_view unit_of(const OptionRow& row) {
  switch (row.unit) {
    case OptionUnit::none:
      return "";
    case OptionUnit::bytes:
      return "bytes";
    case OptionUnit::ms:
      return "ms";
  }
  return "";
}

std::string_view reload_of(const OptionRow& row) {
  switch (row.reload) {
    case OptionReload::at_start:
      return "at start";
    case OptionReload::while_running:
      return "while running";
  }
  return "";
}

// A vertical bar would end a Markdown table cell, even inside a code span.
std::string cell(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '|') result += '\\';
    result += letter;
  }
  return result;
}

void print_text() {
  for (const OptionRow& row : option_rows) {
    const std::string value = default_value(row);
    fmt::print("{}={}\n    {}.\n    {}: {}; read {}\n", env_name(row), value, row.help.text(),
               kind_of(row), range_of(row), reload_of(row));
  }
}

// One row for each option that a preset sets.
void print_preset_table() {
  std::string names = "| Option |";
  std::string line = "|---|";
  for (size_t preset = 0; preset < preset_count; preset++) {
    char name[32];
    OptionLine word(name, sizeof name);
    add_option_index(word, option_row_of(OptionId::preset), preset);
    names += fmt::format(" `{}` |", name);
    line += "---|";
  }
  fmt::print("{}\n{}\n", names, line);
  for (const PresetRow& row : preset_rows) {
    fmt::print("| `{}` |", option_row_of(row.option).name.text());
    for (const char* value : row.values) fmt::print(" {} |", value);
    fmt::print("\n");
  }
}

void print_markdown() {
  fmt::print(
      "# Options\n\n"
      "For users who look up an option, its default and its range.\n\n"
      "<!-- Written by `talus options --markdown`; a test keeps it so. Change "
      "src/settings/options.hpp. -->\n\n"
      "Options are environment variables. Files, the program and calls may set them, too: "
      "[configuration](configuration.md).\n`talus run` takes them as `KEY=VALUE` words before the "
      "program, in any case and without `TALUS_`. They are\nread once, when the program starts. "
      "`talus_set_option` may change some while it is running.\n\n"
      "| Variable | Type | Default | Range | Read | Meaning |\n"
      "|---|---|---|---|---|---|\n");
  for (const OptionRow& row : option_rows) {
    const std::string value = default_value(row);
    fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", env_name(row), kind_of(row),
               value.empty() ? "(empty)" : fmt::format("`{}`", cell(value)), cell(range_of(row)),
               reload_of(row), cell(row.help.text()));
  }
  fmt::print(
      "\nBytes may carry `K` `M` `G` `T` (or `KiB` `MiB` `GiB` `TiB`), powers of 1024; times may "
      "carry\n`ms` or `s`. Words are taken in any case. An amount is bytes, or a percentage of the "
      "memory limit\nthat the process's control groups (cgroup, version 1 or 2) had when it "
      "started. This is the least of its own\ngroup and all groups above it. A percentage of no "
      "limit is none. The process may use the processors of its\naffinity, or fewer where its "
      "groups have a quota of processor time.\n\n"
      "An unknown `TALUS_` variable, or a value that is not allowed, is one line of warning at "
      "start.\nThe value of weaker places stays. `talus run` refuses both. Variables that begin "
      "with `TALUS_BENCH_` or\n`TALUS_TEST_` are not read. A program that gains privileges "
      "when it starts (set-user-ID and the\nlike) ignores all of them. `TALUS_VERBOSE=1` shows "
      "what was found and what is in effect.\n\n"
      "## Presets\n\n"
      "`TALUS_PRESET` gives a few options other defaults, as if the place that asks for it had "
      "set them all.\nA value that the same place or a stronger one sets for a single option wins. "
      "[Measured](configuration.md#what-presets-cost).\n\n");
  print_preset_table();
}

Json default_of(const OptionRow& row) {
  if (row.kind == OptionKind::number) return row.default_number;
  if (row.kind == OptionKind::boolean) return row.default_number != 0;
  return default_value(row);
}

void print_json() {
  Json all = Json::array();
  for (const OptionRow& row : option_rows) {
    Json one = {{"name", row.name.text()},
                {"environment", env_name(row)},
                {"type", kind_of(row)},
                {"default", default_of(row)}};
    if (row.kind == OptionKind::number || row.kind == OptionKind::amount) {
      one["min"] = row.min;
      one["max"] = row.max;
    }
    if (row.kind == OptionKind::text) one["length_max"] = row.max;
    const char* words = option_words(row.id);
    if (words[0] != '\0') one["words"] = words;
    one["unit"] = unit_of(row);
    one["read"] = reload_of(row);
    one["help"] = row.help.text();
    all.push_back(one);
  }
  fmt::print("{}", many_lines(all));
}

}  // namespace

int print_options(OptionsFormat format) {
  switch (format) {
    case OptionsFormat::text:
      print_text();
      break;
    case OptionsFormat::markdown:
      print_markdown();
      break;
    case OptionsFormat::json:
      print_json();
      break;
  }
  return exit_yes;
}

int print_presets() {
  print_preset_table();
  return exit_yes;
}

int print_version(const std::string& wanted) {
  fmt::print("talus {}\n", TALUS_TOOL_VERSION);
  const LibraryPath library = find_library(wanted);
  if (library.path.empty()) {
    complain(library.error);
    return wanted.empty() ? exit_yes : exit_usage;
  }
  const std::optional<ElfFacts> facts = read_elf(library.path);
  const bool is_ours = facts && facts->talus_version;
  fmt::print("library {} {}\n", is_ours ? *facts->talus_version : "(not Talus)", library.path);
  return exit_yes;
}

}  // namespace talus::tool
