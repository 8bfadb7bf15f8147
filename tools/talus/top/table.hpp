// SPDX-License-Identifier: MIT
//
// Owns: the columns of the table of processes: their titles, texts and order.
// Invariant: a line fits the width that it is made for.
// Must not know: which terminal shows it.

#ifndef TALUS_TOOLS_TALUS_TOP_TABLE_HPP
#define TALUS_TOOLS_TALUS_TOP_TABLE_HPP

#include <span>
#include <string>
#include <vector>

#include "terminal.hpp"
#include "top/watched.hpp"

namespace talus::tool {

enum class TopColumn : uint8_t { pid, user, rss, live, free, rate, faults, history, name };
constexpr size_t top_column_count = 9;

enum class SortOrder : uint8_t { falling, rising };

struct TopOrder {
  TopColumn column = TopColumn::rss;
  SortOrder order = SortOrder::falling;
};

struct ColumnLook {
  const char* word;  // on the command line
  const char* title;
  size_t width;
  bool is_text;          // stands left
  size_t columns_least;  // of the terminal, to be shown
};
const ColumnLook& look_of(TopColumn column);
// False: there is no such column to sort by.
bool read_top_column(const std::string& word, TopColumn& column);

// Rows whose name contains the text, in order.
std::vector<const WatchedRow*> ordered(const std::vector<WatchedRow>& rows, const TopOrder& order,
                                       const std::string& filter);

std::string title_line(size_t columns);
std::string row_line(const Terminal& terminal, const WatchedRow& row);

// The first characters that fit; each takes one cell.
std::string first_cells(const std::string& text, size_t cells);

// The last values, one for each cell, by the largest of them.
std::string history_text(const Terminal& terminal, const std::deque<uint64_t>& history,
                         size_t cells);

// "1.2M", at most five characters.
std::string short_size(double bytes);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_TABLE_HPP
