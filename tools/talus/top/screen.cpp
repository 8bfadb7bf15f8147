// SPDX-License-Identifier: MIT
//
// Owns: drawing by ncurses, keys as ncurses names them, and signals.
// Invariant: see screen.hpp.
// Must not know: how processes are read.

#include "top/screen.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "top/site_look.hpp"

#if defined(TALUS_HAS_NCURSES)

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "terminal.hpp"

namespace talus::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int lines_above = 4;  // of the table: two of sums, the filter, the titles
enum Pair : short { plain_pair, title_pair, chosen_pair, number_pair, name_pair };

volatile std::sig_atomic_t ending_signal = 0;

void note_signal(int number) { ending_signal = number; }

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

class Screen {
 public:
  // False: the terminal is of no kind that ncurses knows.
  bool begin() {
    screen_ = ::newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) return false;
    for (const int number : ending_signals) {
      struct sigaction action {};
      action.sa_handler = note_signal;
      ::sigaction(number, &action, nullptr);
    }
    ::cbreak();
    ::noecho();
    ::nonl();
    ::curs_set(0);
    ::keypad(stdscr, true);
    ::nodelay(stdscr, true);
    ::set_escdelay(25);
    if (::has_colors()) {
      ::start_color();
      ::use_default_colors();
      ::init_pair(title_pair, COLOR_BLACK, COLOR_GREEN);
      ::init_pair(chosen_pair, COLOR_BLACK, COLOR_CYAN);
      ::init_pair(number_pair, COLOR_GREEN, -1);
      ::init_pair(name_pair, COLOR_CYAN, -1);
    }
    return true;
  }
  void end() {
    ::endwin();
    ::delscreen(screen_);
  }
  size_t columns() const { return static_cast<size_t>(std::max(COLS, 1)); }
  size_t lines() const { return static_cast<size_t>(std::max(LINES, 1)); }
  size_t page_rows() const { return lines() > lines_above + 1 ? lines() - lines_above - 1 : 0; }
  void put(size_t line, const std::string& text, Pair pair = plain_pair,
           attr_t attributes = A_NORMAL) const {
    if (line >= lines()) return;
    const attr_t look = attributes | (::has_colors() ? static_cast<attr_t>(COLOR_PAIR(pair)) : 0U);
    ::attrset(static_cast<int>(look));
    // A bar of a colour reaches to the end of the line.
    const std::string cut = first_cells(text, columns());
    if (pair == title_pair || pair == chosen_pair) {
      ::mvhline(static_cast<int>(line), 0, ' ' | look, COLS);
    }
    ::mvaddstr(static_cast<int>(line), 0, cut.c_str());
    ::attrset(A_NORMAL);
  }
  // Of the colours that a terminal without colours lacks, reverse video is the sign.
  attr_t marked() const { return ::has_colors() ? A_NORMAL : A_REVERSE; }

 private:
  SCREEN* screen_ = nullptr;
};

TopKey key_of(int code, char& letter) {
  switch (code) {
    case KEY_UP:
      return TopKey::up;
    case KEY_DOWN:
      return TopKey::down;
    case KEY_LEFT:
      return TopKey::left;
    case KEY_RIGHT:
      return TopKey::right;
    case KEY_PPAGE:
      return TopKey::page_up;
    case KEY_NPAGE:
      return TopKey::page_down;
    case KEY_HOME:
      return TopKey::home;
    case KEY_END:
      return TopKey::end;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return TopKey::enter;
    case 27:
      return TopKey::escape;
    case KEY_BACKSPACE:
    case 127:
    case '\b':
      return TopKey::backspace;
    case KEY_F(1):
      return TopKey::help;
    case KEY_F(3):
      return TopKey::search;
    case KEY_F(4):
      return TopKey::filter;
    case KEY_F(6):
      return TopKey::sort;
    case KEY_F(10):
      return TopKey::quit;
    default:
      if (code <= 0 || code > 126) return TopKey::none;
      letter = static_cast<char>(code);
      return TopKey::letter;
  }
}

// These letters are keys of the table, and text in a prompt.
TopKey key_in_table(TopKey key, char letter) {
  if (key != TopKey::letter) return key;
  if (letter == '/') return TopKey::search;
  if (letter == '\\') return TopKey::filter;
  if (letter == '<' || letter == '>') return TopKey::sort;
  return key;
}

std::string time_of_day() {
  const time_t now = ::time(nullptr);
  tm local{};
  char text[16] = {};
  ::localtime_r(&now, &local);
  ::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

class TopScreen {
 public:
  TopScreen(const TopOrder& order, const std::string& filter, double every_s)
      : state_(order, filter), every_(every_s) {}

  int run() {
    terminal_ = this_terminal();
    if (!screen_.begin()) {
      complain("top: the terminal is of no known kind (TERM); --once needs none");
      return exit_usage;
    }
    Clock::time_point next = Clock::now();
    while (!state_.is_over() && ending_signal == 0 && !is_gone_) {
      if (Clock::now() >= next) {
        watched_.look();
        sums_.push_back(sum_of_rss());
        if (sums_.size() > 240) sums_.pop_front();
        next = Clock::now() + std::chrono::duration_cast<Clock::duration>(every_);
      }
      state_.use(watched_.rows());
      draw();
      wait_until(next);
    }
    screen_.end();
    const int number = ending_signal;
    if (number == 0) return exit_yes;
    std::signal(number, SIG_DFL);
    std::raise(number);
    return 128 + number;
  }

 private:
  void wait_until(Clock::time_point next) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ms = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000));
    const int got = ::poll(&input, 1, ms);
    int code = ::getch();
    // The terminal went away.
    is_gone_ = got > 0 && code == ERR && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    for (; code != ERR; code = ::getch()) {
      char letter = 0;
      TopKey key = key_of(code, letter);
      if (state_.prompt() == TopPrompt::none) key = key_in_table(key, letter);
      state_.press(key, letter, screen_.page_rows());
      state_.use(watched_.rows());
    }
  }

  uint64_t sum_of_rss() const {
    uint64_t bytes = 0;
    for (const WatchedRow& row : watched_.rows()) bytes += row.rss;
    return bytes;
  }

  void draw() {
    ::erase();
    terminal_.columns = screen_.columns();
    switch (state_.view()) {
      case TopView::detail:
        draw_detail();
        break;
      case TopView::help:
        draw_help();
        break;
      case TopView::table:
      case TopView::sort_menu:
        draw_table();
        if (state_.view() == TopView::sort_menu) draw_menu();
        break;
    }
    ::refresh();
  }

  void draw_sums() {
    uint64_t rss = 0, live = 0, free = 0;
    for (const WatchedRow& row : watched_.rows()) {
      rss += row.rss;
      live += row.live;
      free += row.free;
    }
    const size_t refused = watched_.refused_count();
    screen_.put(0,
                fmt::format("{}  processes on Talus: {}{}", time_of_day(), watched_.rows().size(),
                            refused == 0 ? "" : fmt::format(", not readable: {}", refused)),
                plain_pair, A_BOLD);
    const std::string text =
        fmt::format("RSS {}  live {}  free {}  ", short_size(static_cast<double>(rss)),
                    short_size(static_cast<double>(live)), short_size(static_cast<double>(free)));
    const size_t cells = screen_.columns() > text.size() + 4
                             ? std::min<size_t>(screen_.columns() - text.size() - 1, 60)
                             : 0;
    screen_.put(1, text + history_text(terminal_, sums_, cells), number_pair);
  }

  void draw_table() {
    draw_sums();
    const bool is_falling = state_.order().order == SortOrder::falling;
    screen_.put(2, fmt::format("sorted by {}, {}{}", look_of(state_.order().column).title,
                               is_falling ? "largest first" : "smallest first",
                               state_.filter().empty() ? "" : "; filter: " + state_.filter()));
    screen_.put(3, title_line(screen_.columns()), title_pair, screen_.marked());
    const size_t rows = screen_.page_rows(), first = state_.first_row(rows);
    for (size_t i = 0; i < rows && first + i < state_.shown().size(); i++) {
      const bool is_chosen = first + i == state_.chosen();
      screen_.put(lines_above + i, row_line(terminal_, *state_.shown()[first + i]),
                  is_chosen ? chosen_pair : plain_pair,
                  is_chosen ? screen_.marked() : attr_t{A_NORMAL});
    }
    if (state_.shown().empty()) {
      screen_.put(lines_above, watched_.rows().empty() ? "no process on Talus that can be read"
                                                       : "the filter leaves none");
    }
    draw_bottom(state_.prompt() == TopPrompt::search   ? "Search: " + state_.typed() + "_"
                : state_.prompt() == TopPrompt::filter ? "Filter: " + state_.typed() + "_"
                                                       : "F1 Help  F3 Search  F4 Filter  F6 Sort  "
                                                         "I Invert  Enter Look  F10 Quit");
  }

  void draw_bottom(const std::string& text) {
    screen_.put(screen_.lines() - 1, text, chosen_pair, screen_.marked());
  }

  void draw_menu() {
    for (size_t i = 0; i < top_column_count && i < screen_.page_rows(); i++) {
      const bool is_chosen = i == state_.menu_at();
      screen_.put(lines_above + i, fmt::format(" {:<14}", look_of(static_cast<TopColumn>(i)).title),
                  is_chosen ? chosen_pair : name_pair,
                  is_chosen ? screen_.marked() : attr_t{A_NORMAL});
    }
    draw_bottom("Sort by: arrows, Enter; Esc leaves");
  }

  void draw_detail() {
    const WatchedRow* const row = state_.looked_at();
    if (row == nullptr) {
      screen_.put(0, "the process has ended", plain_pair, A_BOLD);
      return draw_bottom("Esc Back");
    }
    screen_.put(0, fmt::format("{}, process {} of {}", row->name, row->pid, row->user), plain_pair,
                A_BOLD);
    const std::string text = fmt::format(
        "RSS {}  live {}  free {}  ", short_size(static_cast<double>(row->rss)),
        short_size(static_cast<double>(row->live)), short_size(static_cast<double>(row->free)));
    const size_t cells = screen_.columns() > text.size() + 4
                             ? std::min<size_t>(screen_.columns() - text.size(), 60)
                             : 0;
    screen_.put(1, text + history_text(terminal_, row->history, cells), number_pair);
    std::string tabs;
    for (size_t i = 0; i < detail_tab_count; i++) {
      const auto tab = static_cast<DetailTab>(i);
      const std::string name = fmt::format("{} {}", i + 1, name_of(tab));
      tabs += tab == state_.tab() ? "[" + name + "]" : " " + name + " ";
    }
    screen_.put(2, tabs, name_pair);
    const DetailLines detail = state_.tab() == DetailTab::sites
                                   ? sites_.lines_of(row->pid)
                                   : detail_lines(terminal_, *row, state_.tab());
    screen_.put(3, detail.title, title_pair, screen_.marked());
    const size_t rows = screen_.page_rows();
    state_.bound_scroll(detail.lines.size(), rows);
    for (size_t i = 0; i < rows && state_.scrolled() + i < detail.lines.size(); i++) {
      screen_.put(lines_above + i, detail.lines[state_.scrolled() + i]);
    }
    draw_bottom("Left/Right, 1-6 Part  Up/Down Scroll  Esc Back");
  }

  void draw_help() {
    constexpr const char* text[] = {
        "talus top: the memory of all processes on Talus",
        "",
        "  arrows, PgUp, PgDn, Home, End   choose a process",
        "  Enter                           look into it: memory, classes, threads,",
        "                                  heaps, instances, sites; Esc or q leaves",
        "  F3 /                            search by name",
        "  F4 \\                            show only names with a text; Esc shows all",
        "  F6 < >                          choose the column to sort by",
        "  M L F A T N                     sort by RSS, live, free, allocations,",
        "                                  faults, process id",
        "  I                               the other way round",
        "  F1 h ?                          this page",
        "  F10 q                           quit",
        "",
        "  ALLOC/s   bytes, where calls are counted (PRINT_STATS_TRIGGER 1 or 4);",
        "            else r: how often threads took blocks from slabs",
        "  FREE      free and resident: in slabs, lists, kept blocks and ranges",
    };
    for (size_t i = 0; i < std::size(text) && i + 1 < screen_.lines(); i++) screen_.put(i, text[i]);
    draw_bottom("any key leaves");
  }

  TopState state_;
  std::chrono::duration<double> every_;
  Terminal terminal_;
  SiteLook sites_;
  Screen screen_;
  Watched watched_;
  std::deque<uint64_t> sums_;
  bool is_gone_ = false;
};

}  // namespace

int run_screen(const TopOrder& order, const std::string& filter, double every_s) {
  return TopScreen(order, filter, every_s).run();
}

}  // namespace talus::tool

#else

namespace talus::tool {

int run_screen(const TopOrder&, const std::string&, double) {
  complain("top: this command was built without ncurses (libncurses-dev); --once needs none");
  return exit_usage;
}

}  // namespace talus::tool

#endif
