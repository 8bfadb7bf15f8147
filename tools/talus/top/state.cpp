// SPDX-License-Identifier: MIT
//
// Owns: see state.hpp.
// Invariant: see state.hpp.
// Must not know: the terminal.

#include "top/state.hpp"

#include <algorithm>

namespace talus::tool {

void TopState::use(const std::vector<WatchedRow>& rows) {
  rows_ = &rows;
  shown_ = ordered(rows, order_, filter_);
  const auto found = std::find_if(shown_.begin(), shown_.end(), [this](const WatchedRow* row) {
    return row->pid == chosen_pid_;
  });
  if (found != shown_.end()) chosen_ = static_cast<size_t>(found - shown_.begin());
  choose(chosen_);
}

void TopState::choose(size_t row) {
  chosen_ = shown_.empty() ? 0 : std::min(row, shown_.size() - 1);
  chosen_pid_ = shown_.empty() ? 0 : shown_[chosen_]->pid;
}

const WatchedRow* TopState::looked_at() const {
  if (rows_ == nullptr) return nullptr;
  for (const WatchedRow& row : *rows_) {
    if (row.pid == looked_at_pid_) return &row;
  }
  return nullptr;
}

size_t TopState::first_row(size_t page_rows) {
  if (page_rows == 0) return 0;
  if (chosen_ < first_row_) first_row_ = chosen_;
  if (chosen_ >= first_row_ + page_rows) first_row_ = chosen_ - page_rows + 1;
  if (first_row_ + page_rows > shown_.size()) {
    first_row_ = shown_.size() > page_rows ? shown_.size() - page_rows : 0;
  }
  return first_row_;
}

void TopState::bound_scroll(size_t lines, size_t page_rows) {
  scrolled_ = std::min(scrolled_, lines > page_rows ? lines - page_rows : 0);
}

void TopState::press(TopKey key, char letter, size_t page_rows) {
  if (prompt_ != TopPrompt::none) return press_in_prompt(key, letter);
  switch (view_) {
    case TopView::table:
      return press_in_table(key, letter, page_rows);
    case TopView::detail:
      return press_in_detail(key, letter, page_rows);
    case TopView::sort_menu:
      return press_in_menu(key);
    case TopView::help:
      view_ = looked_at_pid_ != 0 ? TopView::detail : TopView::table;
      return;
  }
}

void TopState::press_in_prompt(TopKey key, char letter) {
  if (key == TopKey::letter) typed_ += letter;
  if (key == TopKey::backspace && !typed_.empty()) typed_.pop_back();
  if (key == TopKey::escape) typed_.clear();
  if (prompt_ == TopPrompt::filter) filter_ = typed_;
  if (rows_ != nullptr) use(*rows_);
  if (prompt_ == TopPrompt::search) find_typed();
  if (key == TopKey::enter || key == TopKey::escape) prompt_ = TopPrompt::none;
}

void TopState::find_typed() {
  if (typed_.empty()) return;
  for (size_t i = 0; i < shown_.size(); i++) {
    if (shown_[i]->name.find(typed_) == std::string::npos) continue;
    choose(i);
    return;
  }
}

void TopState::sort_by(TopColumn column) {
  const bool is_text = column == TopColumn::name || column == TopColumn::user;
  order_ = {column, is_text ? SortOrder::rising : SortOrder::falling};
}

void TopState::press_in_table(TopKey key, char letter, size_t page_rows) {
  switch (key) {
    case TopKey::up:
      return choose(chosen_ == 0 ? 0 : chosen_ - 1);
    case TopKey::down:
      return choose(chosen_ + 1);
    case TopKey::page_up:
      return choose(chosen_ > page_rows ? chosen_ - page_rows : 0);
    case TopKey::page_down:
      return choose(chosen_ + page_rows);
    case TopKey::home:
      return choose(0);
    case TopKey::end:
      return choose(shown_.size());
    case TopKey::enter:
      if (shown_.empty()) return;
      looked_at_pid_ = chosen_pid_;
      scrolled_ = 0;
      view_ = TopView::detail;
      return;
    case TopKey::help:
      view_ = TopView::help;
      return;
    case TopKey::search:
    case TopKey::filter:
      prompt_ = key == TopKey::search ? TopPrompt::search : TopPrompt::filter;
      typed_ = key == TopKey::search ? "" : filter_;
      return;
    case TopKey::sort:
      view_ = TopView::sort_menu;
      menu_at_ = static_cast<size_t>(order_.column);
      return;
    case TopKey::quit:
      is_over_ = true;
      return;
    case TopKey::letter:
      break;
    default:
      return;
  }
  if (letter == 'q') is_over_ = true;
  if (letter == 'h' || letter == '?') view_ = TopView::help;
  if (letter == 'I') {
    order_.order = order_.order == SortOrder::falling ? SortOrder::rising : SortOrder::falling;
  }
  constexpr std::pair<char, TopColumn> letters[] = {
      {'M', TopColumn::rss},  {'L', TopColumn::live},   {'F', TopColumn::free},
      {'A', TopColumn::rate}, {'T', TopColumn::faults}, {'N', TopColumn::pid}};
  for (const auto& [own, column] : letters) {
    if (letter == own) sort_by(column);
  }
}

void TopState::press_in_menu(TopKey key) {
  if (key == TopKey::up && menu_at_ != 0) menu_at_--;
  if (key == TopKey::down && menu_at_ + 1 < top_column_count) menu_at_++;
  if (key == TopKey::enter) sort_by(static_cast<TopColumn>(menu_at_));
  if (key == TopKey::up || key == TopKey::down) return;
  view_ = TopView::table;
}

void TopState::press_in_detail(TopKey key, char letter, size_t page_rows) {
  const auto tab = static_cast<size_t>(tab_);
  const auto turn = [&](size_t to) {
    tab_ = static_cast<DetailTab>(to % detail_tab_count);
    scrolled_ = 0;
  };
  switch (key) {
    case TopKey::up:
      scrolled_ -= scrolled_ == 0 ? 0 : 1;
      return;
    case TopKey::down:
      scrolled_++;
      return;
    case TopKey::page_up:
      scrolled_ -= std::min(scrolled_, page_rows);
      return;
    case TopKey::page_down:
      scrolled_ += page_rows;
      return;
    case TopKey::home:
      scrolled_ = 0;
      return;
    case TopKey::right:
      return turn(tab + 1);
    case TopKey::left:
      return turn(tab + detail_tab_count - 1);
    case TopKey::help:
      view_ = TopView::help;
      return;
    case TopKey::letter:
      break;
    case TopKey::quit:
    case TopKey::escape:
    case TopKey::backspace:
      looked_at_pid_ = 0;
      view_ = TopView::table;
      return;
    default:
      return;
  }
  if (letter == '\t') turn(tab + 1);
  if (letter >= '1' && letter < static_cast<char>('1' + detail_tab_count)) {
    turn(static_cast<size_t>(letter - '1'));
  }
  if (letter == 'h' || letter == '?') view_ = TopView::help;
  if (letter != 'q') return;
  looked_at_pid_ = 0;
  view_ = TopView::table;
}

}  // namespace talus::tool
