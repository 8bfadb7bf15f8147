// SPDX-License-Identifier: MIT
//
// Owns: `talus stats`: which form, how often, and which exit code.
// Invariant: complaints go to stderr, so stdout has whole samples only.
// Must not know: how numbers are found.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "command.hpp"
#include "observe/observe.hpp"
#include "observe/rates.hpp"
#include "observe/show_numbers.hpp"
#include "observe/target.hpp"

namespace talus::tool {
namespace {

using Clock = RateMeter::Clock;

std::string show(const std::vector<Numbers>& numbers, StatsFormat format, bool is_first) {
  switch (format) {
    case StatsFormat::text:
      return (is_first ? "" : "\n") + show_text(numbers);
    case StatsFormat::json:
      return show_json(numbers);
    case StatsFormat::csv:
      return (is_first ? csv_header() : "") + show_csv(numbers);
    case StatsFormat::openmetrics:
      return show_openmetrics(numbers);
  }
  return {};
}

bool read_seconds(const std::string& text, double& seconds) {
  char* end = nullptr;
  seconds = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && seconds >= 0.01 && seconds <= 1e6;
}

// Looks that follow each other quickly do not wait for a quiet moment of the process.
Patience patience_of(Clock::duration period) {
  Patience patience;
  if (period <= Clock::duration::zero() || period / 2 >= patience.time) return patience;
  patience.looks_min = 1;
  patience.time = std::chrono::duration_cast<std::chrono::milliseconds>(period / 2);
  return patience;
}

}  // namespace

int print_stats(const StatsRequest& request) {
  double every_s = 0;
  if (!request.every_s.empty() && !read_seconds(request.every_s, every_s)) {
    complain(
        fmt::format("stats: --watch={} is no time from 0.01 to 1000000 seconds", request.every_s));
    return exit_usage;
  }
  const std::optional<Target> target = read_target("stats", request.process);
  if (!target) return exit_usage;
  if (!target->is_process && every_s != 0) {
    complain("stats: a core file does not change; --watch needs a process id");
    return exit_usage;
  }
  RateMeter rates;
  const auto period =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every_s));
  const Patience patience = patience_of(period);
  Clock::time_point next = Clock::now();
  for (bool is_first = true;; is_first = false) {
    Observation seen = observe(*target, Detail::numbers, patience);
    rates.note(seen.numbers, RateMeter::Clock::now());
    if (!seen.numbers.empty()) {
      const std::string text = show(seen.numbers, request.format, is_first);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
    if (is_first && !seen.note.empty()) complain("note: " + seen.note);
    // The watched process may end, and that is no mistake.
    if (!is_first && seen.result == ObserveResult::no_process) return exit_yes;
    if (!seen.message.empty()) complain(seen.message);
    if (every_s <= 0 || seen.numbers.empty()) return exit_code_of(seen.result);
    if (std::fflush(stdout) != 0) return exit_usage;
    next = std::max(next + period, Clock::now());  // a late look is not made up for
    std::this_thread::sleep_until(next);
  }
}

}  // namespace talus::tool
