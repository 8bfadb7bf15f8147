// SPDX-License-Identifier: MIT
//
// Owns: see table.hpp.
// Invariant: see table.hpp.
// Must not know: which terminal shows it.

#include "top/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "utf8.hpp"

namespace talus::tool {
namespace {

constexpr ColumnLook columns[top_column_count] = {
    {"pid", "PID", 7, false, 0},        {"user", "USER", 9, true, 96},
    {"rss", "RSS", 7, false, 0},        {"live", "LIVE", 7, false, 0},
    {"free", "FREE", 7, false, 0},      {"rate", "ALLOC/s", 8, false, 0},
    {"faults", "FAULT/s", 7, false, 0}, {"", "RSS OVER TIME", 14, true, 0},
    {"name", "NAME", 0, true, 0}};

std::string cell(const ColumnLook& look, const std::string& text) {
  return look.is_text ? fmt::format("{:<{}}", text, look.width)
                      : fmt::format("{:>{}}", text, look.width);
}

std::string rate_text(const WatchedRow& row) {
  if (row.allocated_bytes) return short_size(*row.allocated_bytes);
  return row.refills ? short_size(*row.refills) + " r" : "-";
}

std::string text_of(const Terminal& terminal, const WatchedRow& row, TopColumn column) {
  switch (column) {
    case TopColumn::pid:
      return std::to_string(row.pid);
    case TopColumn::user:
      return row.user.substr(0, look_of(column).width);
    case TopColumn::rss:
      return short_size(static_cast<double>(row.rss));
    case TopColumn::live:
      return short_size(static_cast<double>(row.live));
    case TopColumn::free:
      return short_size(static_cast<double>(row.free));
    case TopColumn::rate:
      return rate_text(row);
    case TopColumn::faults:
      return row.faults ? short_size(*row.faults) : "-";
    case TopColumn::history:
      return history_text(terminal, row.history, look_of(column).width);
    case TopColumn::name:
      return row.name;
  }
  return {};
}

bool is_less(const WatchedRow& a, const WatchedRow& b, TopColumn column) {
  switch (column) {
    case TopColumn::pid:
      return a.pid < b.pid;
    case TopColumn::user:
      return a.user < b.user;
    case TopColumn::rss:
    case TopColumn::history:
      return a.rss < b.rss;
    case TopColumn::live:
      return a.live < b.live;
    case TopColumn::free:
      return a.free < b.free;
    case TopColumn::rate:
      return std::pair(a.allocated_bytes.value_or(0), a.refills.value_or(0)) <
             std::pair(b.allocated_bytes.value_or(0), b.refills.value_or(0));
    case TopColumn::faults:
      return a.faults.value_or(0) < b.faults.value_or(0);
    case TopColumn::name:
      return a.name < b.name;
  }
  return false;
}

}  // namespace

const ColumnLook& look_of(TopColumn column) { return columns[static_cast<size_t>(column)]; }

bool read_top_column(const std::string& word, TopColumn& column) {
  for (size_t i = 0; i < top_column_count; i++) {
    if (word.empty() || word != columns[i].word) continue;
    column = static_cast<TopColumn>(i);
    return true;
  }
  return false;
}

std::vector<const WatchedRow*> ordered(const std::vector<WatchedRow>& rows, const TopOrder& order,
                                       const std::string& filter) {
  std::vector<const WatchedRow*> shown;
  for (const WatchedRow& row : rows) {
    const bool is_wanted = row.name.find(filter) != std::string::npos ||
                           std::to_string(row.pid).find(filter) != std::string::npos;
    if (is_wanted) shown.push_back(&row);
  }
  std::stable_sort(shown.begin(), shown.end(), [&](const WatchedRow* a, const WatchedRow* b) {
    return order.order == SortOrder::falling ? is_less(*b, *a, order.column)
                                             : is_less(*a, *b, order.column);
  });
  return shown;
}

std::string first_cells(const std::string& text, size_t cells) {
  size_t at = 0;
  for (size_t i = 0; i < cells && at < text.size(); i++) {
    at += std::max<size_t>(utf8_length(text.substr(at, 4)), 1);
  }
  return text.substr(0, at);
}

std::string title_line(size_t width) {
  std::string line;
  for (const ColumnLook& look : columns) {
    if (width >= look.columns_least) line += (line.empty() ? "" : " ") + cell(look, look.title);
  }
  return first_cells(line, width);
}

std::string row_line(const Terminal& terminal, const WatchedRow& row) {
  std::string line;
  for (size_t i = 0; i < top_column_count; i++) {
    if (terminal.columns < columns[i].columns_least) continue;
    line += (line.empty() ? "" : " ") +
            cell(columns[i], text_of(terminal, row, static_cast<TopColumn>(i)));
  }
  return first_cells(line, terminal.columns);
}

std::string history_text(const Terminal& terminal, const std::deque<uint64_t>& history,
                         size_t cells) {
  const size_t count = std::min(cells, history.size());
  const std::vector<uint64_t> last(history.end() - static_cast<long>(count), history.end());
  return std::string(cells - count, ' ') + spark_of(terminal, last);
}

std::string short_size(double value) {
  constexpr const char* units[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1024;
    unit++;
  }
  return value < 9.95 && unit != 0 ? fmt::format("{:.1f}{}", value, units[unit])
                                   : fmt::format("{:.0f}{}", value, units[unit]);
}

}  // namespace talus::tool
