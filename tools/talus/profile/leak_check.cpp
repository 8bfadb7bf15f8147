// SPDX-License-Identifier: MIT
//
// Owns: see leak_check.hpp.
// Invariant: see leak_check.hpp.
// Must not know: see leak_check.hpp.

#include "profile/leak_check.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "command.hpp"
#include "profile/code_names.hpp"
#include "profile/exit_watch.hpp"
#include "profile/heap_source.hpp"
#include "profile/lost_blocks.hpp"
#include "profile/show_places.hpp"
#include "profile/with_complaints.hpp"

namespace talus::tool {
namespace {

constexpr size_t lost_rows_max = 20;

void print_lost(const HeapSource& source, const Samples& samples, const Samples& lost) {
  const NamedProfile profile = source.named_of(lost, 0, ProfileView::live, nullptr);
  const Measures sum = sum_of(profile);
  complain(fmt::format("{}: lost {} in {:.0f} blocks (estimate from {} of {} live samples)",
                       source.title(), size_text(sum[live_bytes]), sum[live_blocks],
                       lost.live.size(), samples.live.size()));
  size_t shown = 0;
  for (const PlaceRow& row : rows_of(profile, NameDetail::lines, live_bytes)) {
    if (row.measures[live_blocks] <= 0 || shown++ == lost_rows_max) break;
    complain(fmt::format("{:>11} {:>9.0f} blocks  {}", size_text(row.measures[live_bytes]),
                         row.measures[live_blocks], row.name));
  }
}

enum class CheckResult { clean, lost, not_done };

CheckResult check(const ExitMoment& moment) {
  CheckResult result = CheckResult::not_done;
  const std::string pid = std::to_string(moment.pid);
  with_complaints("run", pid, "profile", [&] {
    std::string why;
    int code = exit_yes;
    const auto source = HeapSource::reach(process_target(moment.pid), DebugFiles{}, why, code);
    const Samples samples = source == nullptr ? Samples{} : source->read();
    if (samples.mean_bytes == 0) {
      complain(why.empty() ? "run: no leak check: the process has no profile"
                           : "run: no leak check: " + why);
      return 0;
    }
    const Samples lost = only_lost(*source, samples, moment);
    if (!lost.live.empty()) print_lost(*source, samples, lost);
    result = lost.live.empty() ? CheckResult::clean : CheckResult::lost;
    return 0;
  });
  return result;
}

}  // namespace

int run_with_leak_check(const std::function<int()>& start) {
  constexpr int keep = 0;
  ::setenv("TALUS_PROFILE", "16KiB", keep);
  CheckResult result = CheckResult::not_done;
  std::fflush(nullptr);
  const Watched watched = watch_until_exit(start, [&result](const ExitMoment& moment) {
    if (WIFEXITED(moment.status)) result = check(moment);
  });
  if (watched.code < 0) {
    complain(fmt::format("run: no leak check: the kernel does not let the program be traced: {}",
                         std::strerror(errno)));
    return exit_refused;
  }
  if (watched.code != 0) return watched.code;
  if (result == CheckResult::lost) return exit_leak;
  if (!watched.has_stopped) complain("run: no leak check: the program did not stop at its end");
  return result == CheckResult::clean ? exit_yes : exit_refused;
}

}  // namespace talus::tool
