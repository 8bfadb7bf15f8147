// SPDX-License-Identifier: MIT
//
// Owns: `talus leak`: its words, its looks, and the table of what grows.
// Invariant: see sampling_span.hpp. The process is read, and nothing else, while it is watched.
// Must not know: how growth is told from chance.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "command.hpp"
#include "profile/code_names.hpp"
#include "profile/growth.hpp"
#include "profile/heap_source.hpp"
#include "profile/sampling_span.hpp"
#include "profile/show_places.hpp"
#include "profile/with_complaints.hpp"
#include "subcommand.hpp"

namespace talus::tool {
namespace {

constexpr size_t leak_rows_max = 10;

struct LeakRequest {
  std::string process;
  double span_s = 60;
  size_t looks = 13;
  uint64_t mean_bytes = usual_mean_bytes;
};

const char* word_of(GrowthVerdict verdict) {
  switch (verdict) {
    case GrowthVerdict::leaks:
      return "leaks";
    case GrowthVerdict::replaces:
      return "grows";
    case GrowthVerdict::stopped:
      return "stopped";
    case GrowthVerdict::steady:
      break;
  }
  return "steady";
}

// Fewer than four: the process ended, or the user stopped the command.
std::vector<GrowthLook> look_often(const HeapSource& source, const LeakRequest& request) {
  std::vector<GrowthLook> looks;
  const double step_s = request.span_s / static_cast<double>(request.looks - 1);
  while (looks.size() < request.looks) {
    if (!looks.empty() && !wait_for_process(step_s, source.target().pid)) break;
    const uint64_t now = monotonic_ns();
    try {
      looks.push_back({now, source.read()});
    } catch (const Lost&) {
      break;
    }
  }
  return looks;
}

// The function and its callers, in the form of `talus profile`.
std::string name_of(const HeapSource& source, const Growth& growth, const GrowthLook& look) {
  Samples one;
  one.mean_bytes = look.samples.mean_bytes;
  SampledSite site;
  site.frames = growth.frames;
  site.block_bytes = site.allocations = 1;
  one.sites.push_back(site);
  const NamedProfile profile = source.named_of(one, 0, ProfileView::live, nullptr);
  const std::vector<PlaceRow> rows = rows_of(profile, NameDetail::functions, live_bytes);
  return rows.empty() ? "(no frame)" : rows.front().name;
}

void print_rows(const HeapSource& source, const std::vector<Growth>& rows, const GrowthLook& last) {
  constexpr double hour_s = 3600;
  fmt::print("\n{:>14} {:>11} {:>6} {:>8} {:>11}  {:<8} {}\n", "growth/hour", "+/-", "sure",
             "survive", "live", "verdict", "function < its callers");
  size_t shown = 0;
  for (const Growth& row : rows) {
    if (row.verdict == GrowthVerdict::steady || shown++ == leak_rows_max) break;
    const std::string survive = row.survivors > 0 || row.survival > 0
                                    ? fmt::format("{:.0f} %", 100 * std::min(1.0, row.survival))
                                    : "-";
    fmt::print("{:>14} {:>11} {:>6} {:>8} {:>11}  {:<8} {}\n",
               "+" + size_text(row.bytes_per_s * hour_s), size_text(row.error_per_s * hour_s),
               fmt::format("{:.0f} %", std::floor(100 * row.confidence)), survive,
               size_text(row.live_bytes), word_of(row.verdict), name_of(source, row, last));
  }
}

int report(const HeapSource& source, const std::vector<GrowthLook>& looks) {
  const std::vector<Growth> rows = growth_in(looks);
  const auto count = [&rows](GrowthVerdict verdict) {
    return std::count_if(rows.begin(), rows.end(),
                         [verdict](const Growth& row) { return row.verdict == verdict; });
  };
  const auto leaks = count(GrowthVerdict::leaks);
  const double span_s = static_cast<double>(looks.back().at_ns - looks.front().at_ns) / 1e9;
  fmt::print("{}: {} looks in {:.1f} s, a sample each {} of allocations\n",
             printable(source.title()), looks.size(), span_s,
             size_text(static_cast<double>(looks.back().samples.mean_bytes)));
  fmt::print(
      "{} places grow as a leak does, {} grow and free, {} grew and stopped, {} are steady\n",
      leaks, count(GrowthVerdict::replaces), count(GrowthVerdict::stopped),
      count(GrowthVerdict::steady));
  if (rows.size() != static_cast<size_t>(count(GrowthVerdict::steady))) {
    print_rows(source, rows, looks.back());
  }
  return leaks == 0 ? exit_yes : exit_leak;
}

int watch(const LeakRequest& request, const Target& target) {
  std::string why;
  int code = exit_yes;
  const auto source = HeapSource::reach(target, DebugFiles{}, why, code);
  if (source == nullptr) {
    complain(why);
    return code;
  }
  SamplingSpan span(*source);
  if (!span.begin(request.mean_bytes, source->read().is_on)) return exit_refused;
  const std::vector<GrowthLook> looks = look_often(*source, request);
  if (looks.size() < 4) {
    complain(fmt::format("leak: {} ended, or the command was stopped, after {} looks of at least 4",
                         source->title(), looks.size()));
    return exit_usage;
  }
  return report(*source, looks);
}

int leak(const LeakRequest& request) {
  const std::optional<Target> target = read_target("leak", request.process);
  if (!target) return exit_usage;
  if (!target->is_process) {
    complain("leak: it needs a running process");
    return exit_usage;
  }
  return with_complaints("leak", request.process, "profile",
                         [&] { return watch(request, *target); });
}

}  // namespace

Subcommand add_leak(CLI::App& app) {
  const auto wanted = std::make_shared<LeakRequest>();
  CLI::App* const command = app.add_subcommand("leak", "Watch which functions' memory grows");
  command->footer(
      "talus leak [--for SECONDS] [--looks N] [--every BYTES] PID\n\nLooks at the samples of a "
      "process several times, which it does not notice. Where there are\nnone, they are switched "
      "on meanwhile. A place leaks if it grows steadily and keeps most of\nwhat it allocates; a "
      "cache that fills and stops does not. Exit status: 23 if a place leaks;\nelse as of `talus "
      "stats`.");
  command->add_option("process", wanted->process, "a running process")
      ->type_name("PID")
      ->required();
  command->add_option("--for", wanted->span_s, "how long it is watched, such as 10min")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}}))
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("SECONDS")
      ->default_str("60");
  command->add_option("--looks", wanted->looks, "how many looks in that time")
      ->check(CLI::Range(4, 1000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--every", wanted->mean_bytes, "mean distance of samples, if there are none")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1.0, 4294967295.0))
      ->type_name("BYTES")
      ->default_str("512KiB");
  return {command, [wanted] { return leak(*wanted); }};
}

}  // namespace talus::tool
