// SPDX-License-Identifier: MIT
//
// Owns: `talus statistics`: the names of all statistics, as text and as the Markdown tables of
// docs/statistics.md.
// Invariant: all text comes from the tables of settings/statistics.hpp.
// Must not know: values, processes.

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "command.hpp"
#include "settings/statistics.hpp"

namespace talus::tool {

using namespace core;  // the library's options
namespace {

// The full name, with a placeholder for the key of a keyed group.
std::string full_name(const StatisticRow& row, std::string_view key) {
  if (key.empty()) return fmt::format("{}.{}", row.group.text(), row.field.text());
  return fmt::format("{}.{}.{}", row.group.text(), key, row.field.text());
}

std::string_view unit_of(const StatisticRow& row) {
  switch (row.unit) {
    case StatisticUnit::bytes:
      return "bytes";
    case StatisticUnit::ms:
      return "ms";
    case StatisticUnit::none:
      return "";
  }
  return "";
}

std::string_view kind_of(const StatisticRow& row) {
  return row.kind == StatisticKind::counter ? "counter" : "gauge";
}

void print_rows(std::string_view title, std::span<const StatisticRow> rows, std::string_view key,
                StatisticsFormat format) {
  if (format == StatisticsFormat::text) {
    for (const StatisticRow& row : rows) {
      fmt::print("{}\n    {}; {}{}{}\n", full_name(row, key), row.help.text(), kind_of(row),
                 unit_of(row).empty() ? "" : " in ", unit_of(row));
    }
    return;
  }
  fmt::print("\n### {}\n\n| Name | Kind | Unit | Meaning |\n|---|---|---|---|\n", title);
  for (const StatisticRow& row : rows) {
    fmt::print("| `{}` | {} | {} | {} |\n", full_name(row, key), kind_of(row), unit_of(row),
               row.help.text());
  }
}

}  // namespace

int print_statistics(StatisticsFormat format) {
  for (const StatisticGroup& group : statistic_groups) {
    size_t first = 0;
    while (!is_same_name(statistic_rows[first].group, group.name)) first++;
    size_t end = first;
    while (end < statistic_count && is_same_name(statistic_rows[end].group, group.name)) end++;
    std::string title = group.title;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    print_rows(title, std::span(statistic_rows).subspan(first, end - first), "", format);
  }
  print_rows("Each size class, by the bytes of its blocks", class_statistic_rows, "64", format);
  print_rows("Each thread, by its number", thread_statistic_rows, "0", format);
  print_rows("Each instance, by its number or name", instance_statistic_rows, "0", format);
  return exit_yes;
}

}  // namespace talus::tool
