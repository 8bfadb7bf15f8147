// SPDX-License-Identifier: MIT
//
// Owns: numbers as text for people: bytes in MiB, times in seconds.
// Invariant: a name from the process cannot control the terminal.
// Must not know: where numbers come from.

#include <fmt/format.h>

#include <iterator>
#include <span>

#include "command.hpp"
#include "observe/show_numbers.hpp"

namespace talus::tool {
namespace {

constexpr size_t text_rows_max = 16;  // threads and instances that are listed

std::string with_unit(const core::StatisticRow& row, uint64_t value) {
  switch (row.unit) {
    case core::StatisticUnit::bytes: {
      const uint64_t thousandths = value / 1048576 * 1000 + value % 1048576 * 1000 / 1048576;
      return fmt::format("{:>9}.{:03} MiB", thousandths / 1000, thousandths % 1000);
    }
    case core::StatisticUnit::ms:
      return fmt::format("{:>9}.{:03} s", value / 1000, value % 1000);
    case core::StatisticUnit::none:
      return fmt::format("{:>9}", value);
  }
  return {};
}

std::string columns(const char* title, const char* key, std::span<const core::StatisticRow> rows,
                    const char* last) {
  std::string text = fmt::format("{}\n  {:>6}", title, key);
  for (const core::StatisticRow& row : rows) text += fmt::format("{:>12}", row.label.text());
  return text + last + "\n";
}

template <typename Values>
std::string line_of(uint64_t key, const Values& values) {
  std::string text = fmt::format("  {:>6}", key);
  for (const uint64_t value : values) {
    text += value == core::statistic_unknown ? fmt::format("{:>12}", "-")
                                             : fmt::format("{:>12}", value);
  }
  return text;
}

std::string more_than_shown(size_t count) {
  return count > text_rows_max ? fmt::format("  and {} more\n", count - text_rows_max) : "";
}

std::string tables(const Numbers& numbers) {
  std::string text = columns("blocks by size class", "size", core::class_statistic_rows, "");
  for (const ClassNumbers& row : numbers.classes) {
    text += line_of(row.block_bytes, row.values) + "\n";
  }
  text += columns("bytes that threads hold free", "thread", core::thread_statistic_rows, "");
  for (size_t i = 0; i < numbers.threads.size() && i < text_rows_max; i++) {
    text += line_of(i, numbers.threads[i].values) + "\n";
  }
  text += more_than_shown(numbers.threads.size());
  if (numbers.instances.empty()) return text;
  text += columns("instances: heaps that the program made", "number", core::instance_statistic_rows,
                  "  name");
  for (size_t i = 0; i < numbers.instances.size() && i < text_rows_max; i++) {
    const InstanceNumbers& row = numbers.instances[i];
    text += line_of(row.number, row.values);
    if (!row.name.empty()) text += "  " + printable(row.name);
    text += "\n";
  }
  return text + more_than_shown(numbers.instances.size());
}

std::string with_unit(const RateRow& row, double rate) {
  switch (row.unit) {
    case RateUnit::count:
      return fmt::format("{:>13.3f}", rate);
    case RateUnit::bytes:
      return fmt::format("{:>13.3f} MiB", rate / 1048576);
    case RateUnit::percent:
      return fmt::format("{:>13.3f} %", rate);
  }
  return {};
}

std::string rates_of(const Numbers& numbers) {
  std::string text;
  for (size_t row = 0; row < rate_count; row++) {
    if (!numbers.rates[row]) continue;
    if (text.empty()) text = "by the second, since the last look\n";
    text += fmt::format("  {:<26}{}\n", rate_rows[row].label,
                        with_unit(rate_rows[row], *numbers.rates[row]));
  }
  return text;
}

std::string show_one(const Numbers& numbers) {
  std::string text = fmt::format(
      "talus {}, process {}\n  {}\n  consistent: {}{}\n", printable(numbers.version),
      numbers.get(core::StatisticId::process_id), printable(numbers.object),
      numbers.is_consistent ? "yes" : "no", numbers.is_consistent ? "" : "; " + numbers.why_not);
  size_t row = 1;  // the process is named already
  for (const core::StatisticGroup& group : core::statistic_groups) {
    bool has_title = false;
    for (; row < core::statistic_count; row++) {
      if (!core::is_same_name(core::statistic_rows[row].group, group.name)) break;
      if (!numbers.values[row]) continue;
      if (!has_title) text += fmt::format("{}\n", group.title);
      has_title = true;
      text += fmt::format("  {:<26}{}\n", core::statistic_rows[row].label.text(),
                          with_unit(core::statistic_rows[row], *numbers.values[row]));
    }
  }
  text += rates_of(numbers);
  return text + (numbers.is_damaged ? "" : tables(numbers));
}

}  // namespace

std::string show_text(const std::vector<Numbers>& all) {
  std::string text;
  for (const Numbers& numbers : all) text += (text.empty() ? "" : "\n") + show_one(numbers);
  return text;
}

}  // namespace talus::tool
