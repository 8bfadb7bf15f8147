// SPDX-License-Identifier: MIT
//
// Owns: what the screen of `talus top` shows, and what each key changes of it.
// Invariant: the chosen process stays chosen while rows move, as long as it lives.
// Must not know: the terminal.

#ifndef TALUS_TOOLS_TALUS_TOP_STATE_HPP
#define TALUS_TOOLS_TALUS_TOP_STATE_HPP

#include <string>
#include <vector>

#include "top/detail.hpp"
#include "top/table.hpp"

namespace talus::tool {

enum class TopKey : uint8_t {
  none,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  enter,
  escape,
  backspace,
  help,
  search,
  filter,
  sort,
  quit,
  letter  // with its character
};

enum class TopView : uint8_t { table, detail, sort_menu, help };
enum class TopPrompt : uint8_t { none, search, filter };

class TopState {
 public:
  TopState(const TopOrder& order, std::string filter) : order_(order), filter_(std::move(filter)) {}

  // After each look, and before each drawing.
  void use(const std::vector<WatchedRow>& rows);
  // `page_rows`: how many rows of the table or lines of a process the screen has.
  void press(TopKey key, char letter, size_t page_rows);

  bool is_over() const { return is_over_; }
  TopView view() const { return view_; }
  TopPrompt prompt() const { return prompt_; }
  const std::string& typed() const { return typed_; }
  const std::string& filter() const { return filter_; }
  const TopOrder& order() const { return order_; }
  DetailTab tab() const { return tab_; }
  const std::vector<const WatchedRow*>& shown() const { return shown_; }
  size_t chosen() const { return chosen_; }
  size_t menu_at() const { return menu_at_; }
  size_t scrolled() const { return scrolled_; }
  // The process of the detail view; null: it has ended.
  const WatchedRow* looked_at() const;
  // The first row of the table so that the chosen one is on the screen.
  size_t first_row(size_t page_rows);
  // The view of one process has as many lines.
  void bound_scroll(size_t lines, size_t page_rows);

 private:
  void press_in_prompt(TopKey key, char letter);
  void press_in_table(TopKey key, char letter, size_t page_rows);
  void press_in_detail(TopKey key, char letter, size_t page_rows);
  void press_in_menu(TopKey key);
  void choose(size_t row);
  void sort_by(TopColumn column);
  void find_typed();

  TopOrder order_;
  std::string filter_, typed_;
  TopView view_ = TopView::table;
  TopPrompt prompt_ = TopPrompt::none;
  DetailTab tab_ = DetailTab::memory;
  const std::vector<WatchedRow>* rows_ = nullptr;
  std::vector<const WatchedRow*> shown_;
  int chosen_pid_ = 0, looked_at_pid_ = 0;
  size_t chosen_ = 0, first_row_ = 0, menu_at_ = 0, scrolled_ = 0;
  bool is_over_ = false;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_STATE_HPP
