// SPDX-License-Identifier: MIT
//
// Owns: see show_places.hpp.
// Invariant: see show_places.hpp.
// Must not know: see show_places.hpp.

#include "profile/show_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "command.hpp"

namespace talus::tool {
namespace {

constexpr size_t rows_max = 20, rows_of_thread_max = 5, callers_max = 3;

std::string name_of(const CodeLine& line, NameDetail detail) {
  if (detail == NameDetail::functions || line.file.empty()) return printable(line.function);
  const std::string file = std::filesystem::path(line.file).filename().string();
  return printable(fmt::format("{} {}:{}", line.function, file, line.line));
}

std::string signed_size(double bytes, bool is_difference) {
  return is_difference && bytes > 0 ? "+" + size_text(bytes) : size_text(bytes);
}

}  // namespace

std::string places_head(const PlacesTitle& title, const NamedProfile& profile) {
  const Measures all = sum_of(profile);
  if (profile.is_difference) {
    return printable(profile.title) +
           fmt::format(": live {} in {:+.0f} blocks, allocated {} (estimates)\n",
                       signed_size(all[live_bytes], true), all[live_blocks],
                       signed_size(all[allocated_bytes], true));
  }
  std::string text = fmt::format("{}: a sample each {} of allocations\n", printable(profile.title),
                                 size_text(static_cast<double>(profile.mean_bytes)));
  if (title.view != ProfileView::threads) {
    text += fmt::format("allocated{}: {} in {:.0f} blocks (estimate)\n",
                        title.is_span ? " meanwhile" : " since the profile began",
                        size_text(all[allocated_bytes]), all[allocations]);
  }
  text += fmt::format("live: {} in {:.0f} blocks (estimate)", size_text(all[live_bytes]),
                      all[live_blocks]);
  if (title.live_bytes) {
    const auto known = static_cast<double>(*title.live_bytes);
    text += fmt::format("; all live blocks have {}, so those from before the profile have about {}",
                        size_text(known), size_text(std::max(0.0, known - all[live_bytes])));
  }
  text += '\n';
  if (title.view == ProfileView::peak) {
    text += fmt::format("peak: {} in {:.0f} blocks (estimate)", size_text(all[peak_bytes]),
                        all[peak_blocks]);
    if (title.peak_ago_s) text += fmt::format(", {} ago", duration_text(*title.peak_ago_s));
    text += '\n';
  }
  if (title.lost != 0) text += fmt::format("{} samples found no room\n", title.lost);
  return text;
}

std::string size_text(double bytes) {
  const double size = std::abs(bytes);
  if (size < 1024) return fmt::format("{:.0f} B", bytes);
  if (size < 1024 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
  return fmt::format("{:.1f} MiB", bytes / (1024 * 1024));
}

std::vector<PlaceRow> rows_of(const NamedProfile& profile, NameDetail detail, Measure first) {
  std::map<std::string, PlaceRow> sums;
  for (const NamedStack& stack : profile.stacks) {
    std::string name;
    for (size_t i = 0; i < stack.frames.size() && i < callers_max; i++) {
      name += (i == 0 ? "" : " < ") + name_of(profile.frames[stack.frames[i]], detail);
    }
    if (name.empty()) name = "(no frame)";
    PlaceRow& row = sums[name];
    row.name = name;
    for (size_t i = 0; i < measure_count; i++) row.measures[i] += stack.measures[i];
    row.lives.add(stack.lives, 1);
  }
  std::vector<PlaceRow> rows;
  for (const auto& [name, row] : sums) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [first](const PlaceRow& a, const PlaceRow& b) {
    const auto weight = [first](const Measures& sum) {
      return std::tuple(std::abs(sum[first]), std::abs(sum[allocated_bytes]));
    };
    return weight(a.measures) > weight(b.measures);
  });
  return rows;
}

namespace {

std::string heads_of(const char* first, const char* second, const std::string& name) {
  return fmt::format("{:>11} {:>10} {:>11} {:>11}  {}\n", first, "blocks", second, "blocks", name);
}
// Two sums of bytes, each with its blocks, which stand before it.
std::string row_of(const Measures& sum, Measure first, Measure second, bool is_difference,
                   const std::string& name) {
  return fmt::format("{:>11} {:>10.0f} {:>11} {:>11.0f}  {}\n",
                     signed_size(sum[first], is_difference), sum[first - 1],
                     signed_size(sum[second], is_difference), sum[second - 1], name);
}
static_assert(live_blocks + 1 == live_bytes && peak_blocks + 1 == peak_bytes &&
              allocations + 1 == allocated_bytes);

}  // namespace

std::string place_heads(const std::string& name) { return heads_of("live", "allocated", name); }
std::string place_row(const Measures& sum, bool is_difference, const std::string& name) {
  return row_of(sum, live_bytes, allocated_bytes, is_difference, name);
}

namespace {

std::string pin_rows(const PlacesTitle& title, const NamedProfile& profile) {
  std::string text = fmt::format("\n{:>11} {:>11} {:>11} {:>10}  {}\n", "pinned", "purgeable",
                                 "live", "blocks", "function < its callers");
  size_t shown = 0;
  for (const PlaceRow& row : rows_of(profile, title.detail, pinned_bytes)) {
    if (shown++ == rows_max) break;
    text += fmt::format("{:>11} {:>11} {:>11} {:>10.0f}  {}\n",
                        signed_size(row.measures[pinned_bytes], profile.is_difference),
                        signed_size(row.measures[purgeable_bytes], profile.is_difference),
                        signed_size(row.measures[live_bytes], profile.is_difference),
                        row.measures[live_blocks], row.name);
  }
  return text;
}

// Of each thread its largest places. The thread is the outermost frame.
std::string show_threads(const PlacesTitle& title, const NamedProfile& profile) {
  std::map<uint32_t, NamedProfile> threads;
  for (const NamedStack& stack : profile.stacks) {
    NamedProfile& one = threads[stack.frames.back()];
    one.stacks.push_back(stack);
    one.stacks.back().frames.pop_back();
  }
  std::vector<std::pair<double, uint32_t>> order;
  for (auto& [frame, one] : threads) order.emplace_back(-sum_of(one)[live_bytes], frame);
  std::sort(order.begin(), order.end());
  std::string text = places_head(title, profile);
  for (const auto& [bytes, frame] : order) {
    NamedProfile& one = threads[frame];
    one.frames = profile.frames;
    text += fmt::format("\n{}: {} in {:.0f} blocks\n", printable(profile.frames[frame].function),
                        size_text(-bytes), sum_of(one)[live_blocks]);
    size_t shown = 0;
    for (const PlaceRow& row : rows_of(one, title.detail, live_bytes)) {
      if (shown++ == rows_of_thread_max) break;
      text += fmt::format("{:>11} {:>10.0f}  {}\n", size_text(row.measures[live_bytes]),
                          row.measures[live_blocks], row.name);
    }
  }
  return text;
}

}  // namespace

std::string show_places(const PlacesTitle& title, const NamedProfile& profile) {
  if (title.view == ProfileView::threads) return show_threads(title, profile);
  std::string text = places_head(title, profile);
  if (title.view == ProfileView::pins) return text + pin_rows(title, profile);
  const bool is_peak = title.view == ProfileView::peak;
  const std::string name = "function < its callers";
  text += "\n" + (is_peak ? heads_of("peak", "live", name) : place_heads(name));
  size_t shown = 0;
  for (const PlaceRow& row : rows_of(profile, title.detail, measure_of(title.view))) {
    if (shown++ == rows_max) break;
    text += is_peak ? row_of(row.measures, peak_bytes, live_bytes, profile.is_difference, row.name)
                    : place_row(row.measures, profile.is_difference, row.name);
  }
  return text;
}

std::string collapsed(const NamedProfile& profile, Measure measure, NameDetail detail) {
  std::map<std::string, double> sums;
  for (const NamedStack& stack : profile.stacks) {
    std::string line;
    for (size_t i = stack.frames.size(); i-- > 0;) {
      std::string name = name_of(profile.frames[stack.frames[i]], detail);
      std::replace(name.begin(), name.end(), ';', ':');
      line += (line.empty() ? "" : ";") + name;
    }
    sums[line] += stack.measures[measure];
  }
  std::string text;
  for (const auto& [line, bytes] : sums) {
    if (bytes >= 0.5) text += fmt::format("{} {:.0f}\n", line, bytes);
  }
  return text;
}

}  // namespace talus::tool
