// SPDX-License-Identifier: MIT
//
// Owns: see show_lives.hpp.
// Invariant: see show_lives.hpp.
// Must not know: see show_lives.hpp.

#include "profile/show_lives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "profile/lives.hpp"

namespace talus::tool {
namespace {

constexpr size_t life_rows_max = 20;

// Several bins are one column: those up to this one.
constexpr std::array<std::pair<const char*, size_t>, 6> columns = {
    {{"<100us", 1}, {"<1ms", 2}, {"<10ms", 3}, {"<100ms", 4}, {"<1s", 5}, {"longer", 9}}};

std::string shares_of(const Lives& lives) {
  const double all = lives.sum().blocks;
  std::string text;
  size_t bin = 0;
  for (const auto& [head, last] : columns) {
    double blocks = 0;
    for (; bin <= last; bin++) blocks += lives.bins[bin].blocks;
    text += all > 0 ? fmt::format(" {:>5.0f}%", 100 * blocks / all) : fmt::format(" {:>6}", "-");
  }
  return text;
}
std::string mean_of(const Lives& lives) {
  const LifeBin all = lives.sum();
  return all.blocks > 0 ? duration_text(all.seconds / all.blocks) : "-";
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string show_lives(const PlacesTitle& title, const NamedProfile& profile) {
  std::vector<PlaceRow> rows = rows_of(profile, title.detail, live_bytes);
  std::stable_sort(rows.begin(), rows.end(), [](const PlaceRow& a, const PlaceRow& b) {
    return a.lives.freed.sum().bytes > b.lives.freed.sum().bytes;
  });
  std::string text = places_head(title, profile);
  text += fmt::format("\n{:>11} {:>9}", "freed", "mean life");
  for (const auto& [head, last] : columns) text += fmt::format(" {:>6}", head);
  text += fmt::format(" {:>11} {:>9}  {}\n", "live", "mean age", "function < its callers");
  for (size_t i = 0; i < rows.size() && i < life_rows_max; i++) {
    const PlaceRow& row = rows[i];
    text += fmt::format("{:>11} {:>9}{} {:>11} {:>9}  {}\n", size_text(row.lives.freed.sum().bytes),
                        mean_of(row.lives.freed), shares_of(row.lives.freed),
                        size_text(row.lives.live.sum().bytes), mean_of(row.lives.live), row.name);
  }
  return text;
}

}  // namespace talus::tool
