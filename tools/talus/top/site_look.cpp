// SPDX-License-Identifier: MIT
//
// Owns: see site_look.hpp.
// Invariant: see site_look.hpp.
// Must not know: which terminal shows it.

#include "top/site_look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "command.hpp"
#include "profile/code_names.hpp"
#include "profile/heap_source.hpp"
#include "profile/show_places.hpp"
#include "top/table.hpp"

namespace talus::tool {
namespace {

std::string top_size(double bytes) { return short_size(std::max(0.0, bytes)); }

DetailLines read_sites(int pid) {
  DetailLines detail;
  std::string why;
  int code = 0;
  const auto source = HeapSource::reach(process_target(pid), DebugFiles{}, why, code);
  const Samples samples = source == nullptr ? Samples{} : source->read();
  if (samples.mean_bytes == 0) {
    const std::string text = fmt::format("no profile; `talus ctl {} profile on` begins one", pid);
    detail.lines.push_back(source == nullptr ? printable(why) : text);
    return detail;
  }
  detail.title = fmt::format("{:>8} {:>9} {:>8} {:>9}  {}", "LIVE", "BLOCKS", "PEAK", "ALLOCATED",
                             "FUNCTION < ITS CALLERS");
  const NamedProfile profile = source->named_of(samples, 0, ProfileView::live, nullptr);
  for (const PlaceRow& row : rows_of(profile, NameDetail::functions, live_bytes)) {
    detail.lines.push_back(
        fmt::format("{:>8} {:>9.0f} {:>8} {:>9}  {}", top_size(row.measures[live_bytes]),
                    row.measures[live_blocks], top_size(row.measures[peak_bytes]),
                    top_size(row.measures[allocated_bytes]), printable(row.name)));
  }
  return detail;
}

}  // namespace

const DetailLines& SiteLook::lines_of(int pid) {
  const Clock::time_point begin = Clock::now();
  if (pid == pid_ && begin < again_) return lines_;
  pid_ = pid;
  try {
    lines_ = read_sites(pid);
  } catch (const std::runtime_error& error) {
    lines_ = {"", {printable(error.what())}};
  }
  const Clock::time_point end = Clock::now();
  again_ = end + std::max<Clock::duration>(10 * (end - begin), std::chrono::seconds(1));
  return lines_;
}

}  // namespace talus::tool
