// SPDX-License-Identifier: MIT
//
// Owns: numbers as JSON, CSV and OpenMetrics.
// Invariant: each form is well-formed whatever names the process has given to its heaps.
// Must not know: where numbers come from.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "json.hpp"
#include "observe/show_numbers.hpp"
#include "utf8.hpp"

namespace talus::tool {
namespace {

using core::StatisticRow;

constexpr size_t rows_max = 1024;  // of threads and of instances, as the library's forms

template <typename Values>
void add_fields(std::span<const StatisticRow> rows, const Values& values, Json& object) {
  for (size_t i = 0; i < rows.size(); i++) {
    const bool is_known = values[i] != core::statistic_unknown;
    object[rows[i].field.text()] = is_known ? Json(values[i]) : Json(nullptr);
  }
}

Json json_of(const Numbers& numbers) {
  Json all = {{"version", numbers.version},
              {"object", numbers.object},
              {"consistent", numbers.is_consistent},
              {"why_not", numbers.is_consistent ? Json(nullptr) : Json(numbers.why_not)}};
  for (size_t row = 0; row < core::statistic_count; row++) {
    const StatisticRow& now = core::statistic_rows[row];
    all[now.group.text()][now.field.text()] = or_null(numbers.values[row]);
  }
  Json& classes = all["class"] = Json::object();
  for (const ClassNumbers& row : numbers.classes) {
    add_fields(core::class_statistic_rows, row.values, classes[std::to_string(row.block_bytes)]);
  }
  Json& threads = all["thread"] = Json::object();
  for (size_t i = 0; i < numbers.threads.size() && i < rows_max; i++) {
    add_fields(core::thread_statistic_rows, numbers.threads[i].values, threads[std::to_string(i)]);
  }
  Json& instances = all["instance"] = Json::object();
  for (size_t i = 0; i < numbers.instances.size() && i < rows_max; i++) {
    Json& one = instances[std::to_string(numbers.instances[i].number)];
    one["name"] = numbers.instances[i].name;
    add_fields(core::instance_statistic_rows, numbers.instances[i].values, one);
  }
  const bool has_rates = std::any_of(numbers.rates.begin(), numbers.rates.end(),
                                     [](const auto& rate) { return rate.has_value(); });
  for (size_t row = 0; has_rates && row < rate_count; row++) {
    all["per_second"][rate_rows[row].name] = or_null(numbers.rates[row]);
  }
  return all;
}

std::string metric(const StatisticRow& row) {
  return fmt::format("talus_{}_{}", row.group.text(), row.field.text());
}

std::string sample_name(const StatisticRow& row) {
  return metric(row) + (row.kind == core::StatisticKind::counter ? "_total" : "");
}

std::string metric_head(const StatisticRow& row) {
  const std::string name = metric(row);
  std::string text = fmt::format("# TYPE {} {}\n", name,
                                 row.kind == core::StatisticKind::counter ? "counter" : "gauge");
  if (row.unit != core::StatisticUnit::none) {
    text += fmt::format("# UNIT {} {}\n", name,
                        row.unit == core::StatisticUnit::bytes ? "bytes" : "ms");
  }
  return text + fmt::format("# HELP {} {}\n", name, row.help.text());
}

std::string label(const char* name, const std::string& value) {
  std::string text = fmt::format("{}=\"", name);
  for (const char letter : as_utf8(value)) {
    if (letter == '\n') {
      text += "\\n";
    } else {
      if (letter == '"' || letter == '\\') text += '\\';
      text += letter;
    }
  }
  return text + "\"";
}

// `origin` has the labels that tell one look from the others.
std::string sample(const std::string& name, const std::vector<std::string>& labels,
                   const std::vector<std::string>& origin, uint64_t value) {
  std::string text;
  for (const auto* const some : {&origin, &labels}) {
    for (const std::string& one : *some) text += (text.empty() ? "" : ",") + one;
  }
  return text.empty() ? fmt::format("{} {}\n", name, value)
                      : fmt::format("{}{{{}}} {}\n", name, text, value);
}

// Calls show(numbers, origin): labels are only there where they tell something apart.
template <typename Show>
void for_each_copy(const std::vector<Numbers>& all, Show show) {
  for (const Numbers& numbers : all) {
    std::vector<std::string> origin;
    for (const auto& [name, value] : numbers.labels) origin.push_back(label(name.c_str(), value));
    if (origin.empty() && all.size() > 1) origin.push_back(label("object", numbers.object));
    show(numbers, origin);
  }
}

std::string plain_metrics(const std::vector<Numbers>& all) {
  std::string text;
  for (size_t row = 0; row < core::statistic_count; row++) {
    const StatisticRow& now = core::statistic_rows[row];
    std::string samples;
    for_each_copy(all, [&](const Numbers& numbers, const std::vector<std::string>& origin) {
      if (!numbers.values[row]) return;
      samples += sample(sample_name(now), {}, origin, *numbers.values[row]);
    });
    if (!samples.empty()) text += metric_head(now) + samples;
  }
  return text;
}

std::string keyed_metrics(const std::vector<Numbers>& all) {
  std::string text;
  for (size_t field = 0; field < core::class_statistic_count; field++) {
    text += metric_head(core::class_statistic_rows[field]);
    for_each_copy(all, [&](const Numbers& numbers, const std::vector<std::string>& origin) {
      for (const ClassNumbers& row : numbers.classes) {
        text += sample(metric(core::class_statistic_rows[field]),
                       {label("size", std::to_string(row.block_bytes))}, origin, row.values[field]);
      }
    });
  }
  for (size_t field = 0; field < core::thread_statistic_count; field++) {
    const StatisticRow& row = core::thread_statistic_rows[field];
    text += metric_head(row);
    const std::string name = sample_name(row);
    for_each_copy(all, [&](const Numbers& numbers, const std::vector<std::string>& origin) {
      for (size_t i = 0; i < numbers.threads.size() && i < rows_max; i++) {
        const uint64_t value = numbers.threads[i].values[field];
        if (value == core::statistic_unknown) continue;
        text += sample(name, {label("thread", std::to_string(i))}, origin, value);
      }
    });
  }
  for (size_t field = 0; field < core::instance_statistic_count; field++) {
    std::string samples;
    for_each_copy(all, [&](const Numbers& numbers, const std::vector<std::string>& origin) {
      for (size_t i = 0; i < numbers.instances.size() && i < rows_max; i++) {
        const InstanceNumbers& row = numbers.instances[i];
        samples += sample(metric(core::instance_statistic_rows[field]),
                          {label("instance", std::to_string(row.number)), label("heap", row.name)},
                          origin, row.values[field]);
      }
    });
    if (!samples.empty()) text += metric_head(core::instance_statistic_rows[field]) + samples;
  }
  return text;
}

}  // namespace

std::string show_json(const std::vector<Numbers>& all) {
  std::string text;
  for (const Numbers& numbers : all) text += one_line(json_of(numbers)) + "\n";
  return text;
}

// The library's columns, so that one reader serves both, and behind them what only this look knows.
std::string csv_header() {
  std::string text;
  for (const StatisticRow& row : core::statistic_rows) {
    text += fmt::format("{}.{},", row.group.text(), row.field.text());
  }
  return text + "consistent,object\r\n";
}

std::string show_csv(const std::vector<Numbers>& all) {
  std::string text;
  for (const Numbers& numbers : all) {
    for (const auto& value : numbers.values) text += (value ? std::to_string(*value) : "") + ",";
    text += numbers.is_consistent ? "1,\"" : "0,\"";
    for (const char letter : as_utf8(numbers.object)) {
      text += letter;
      if (letter == '"') text += letter;
    }
    text += "\"\r\n";
  }
  return text;
}

std::string show_openmetrics(const std::vector<Numbers>& all) {
  std::string text =
      "# TYPE talus_look_consistent gauge\n"
      "# HELP talus_look_consistent 1: all numbers are of one moment\n";
  for_each_copy(all, [&](const Numbers& numbers, const std::vector<std::string>& origin) {
    text += sample("talus_look_consistent", {}, origin, numbers.is_consistent ? 1 : 0);
  });
  text +=
      "# TYPE talus_look_damaged gauge\n"
      "# HELP talus_look_damaged 1: the heap has what cannot be, so all else is unknown\n";
  for_each_copy(all, [&](const Numbers& numbers, const std::vector<std::string>& origin) {
    text += sample("talus_look_damaged", {}, origin, numbers.is_damaged ? 1 : 0);
  });
  return text + plain_metrics(all) + keyed_metrics(all) + "# EOF\n";
}

}  // namespace talus::tool
