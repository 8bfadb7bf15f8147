// SPDX-License-Identifier: MIT
//
// Owns: `talus top`: its command line, and its tables in a pipe.
// Invariant: without a terminal it writes lines only.
// Must not know: how the screen is drawn.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "command.hpp"
#include "subcommand.hpp"
#include "top/screen.hpp"
#include "top/table.hpp"

namespace talus::tool {
namespace {

struct TopRequest {
  bool is_once = false;
  bool is_batch = false;
  double every_s = 1;
  std::string sort = "rss";
  std::string filter;  // only names that contain it
};

constexpr double once_pause_s = 0.3;  // rates need two looks
constexpr size_t columns_of_pipe = 120;

// False: it cannot be written.
bool write_table(const std::vector<const WatchedRow*>& rows) {
  Terminal terminal = this_terminal();
  if (::isatty(STDOUT_FILENO) != 1) terminal.columns = columns_of_pipe;
  std::string text = title_line(terminal.columns) + "\n";
  for (const WatchedRow* const row : rows) text += row_line(terminal, *row) + "\n";
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

int run_top(const TopRequest& request) {
  TopOrder order;
  if (!read_top_column(request.sort, order.column)) {
    complain(fmt::format("top: no column {} to sort by", request.sort));
    return exit_usage;
  }
  const bool is_text = look_of(order.column).is_text;
  order.order = is_text ? SortOrder::rising : SortOrder::falling;
  const bool has_terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  if (has_terminal && !request.is_once && !request.is_batch) {
    return run_screen(order, request.filter, request.every_s);
  }
  Watched watched;
  watched.look();
  std::this_thread::sleep_for(
      std::chrono::duration<double>(request.is_batch ? request.every_s : once_pause_s));
  for (;;) {
    watched.look();
    const std::vector<const WatchedRow*> rows = ordered(watched.rows(), order, request.filter);
    if (!write_table(rows)) return exit_usage;
    if (!request.is_batch) return rows.empty() ? exit_no : exit_yes;
    std::this_thread::sleep_for(std::chrono::duration<double>(request.every_s));
    std::fputs("\n", stdout);
  }
}

}  // namespace

Subcommand add_top(CLI::App& app) {
  const auto wanted = std::make_shared<TopRequest>();
  CLI::App* const top =
      app.add_subcommand("top", "Show all processes on Talus, and look into one of them");
  top->footer(
      "talus top [--once | --batch] [--every SECONDS] [--sort COLUMN] [--filter TEXT]\n\nKeys are "
      "those of htop; h lists them. Without a terminal it prints one table. Exit status: 0,\n1 if "
      "the table has no process, 2 for wrong use.");
  CLI::Option* const once = top->add_flag("--once", wanted->is_once, "print one table and end");
  top->add_flag("--batch", wanted->is_batch, "print a table each time, until stopped")
      ->excludes(once);
  top->add_option("--every", wanted->every_s, "time between two looks")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->add_option("--sort", wanted->sort, "pid, user, rss, live, free, rate, faults or name")
      ->type_name("COLUMN")
      ->capture_default_str();
  top->add_option("--filter", wanted->filter, "only processes whose name or id contains it")
      ->type_name("TEXT");
  return {top, [wanted] { return run_top(*wanted); }};
}

}  // namespace talus::tool
