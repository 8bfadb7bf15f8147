// SPDX-License-Identifier: MIT
//
// Owns: see profile_view.hpp.
// Invariant: see profile_view.hpp.
// Must not know: see profile_view.hpp.

#include "profile/profile_view.hpp"

#include <cmath>
#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>

#include "json.hpp"
#include "profile_page.hpp"

namespace talus::tool {
namespace {

std::string time_text(uint64_t at_ns) {
  const auto seconds = static_cast<std::time_t>(at_ns / 1000000000);
  std::tm parts{};
  char text[32] = "";
  if (::localtime_r(&seconds, &parts) == nullptr) return "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

// Of the page's table.
const char* first_column(const PlacesTitle& title) {
  switch (title.view) {
    case ProfileView::peak:
      return "Peak bytes";
    case ProfileView::pins:
      return "Pinned bytes";
    case ProfileView::lifetimes:
      return "Mean life";
    case ProfileView::allocated:
      return "Allocated bytes";
    default:
      return title.is_span ? "Allocated bytes" : "Live bytes";
  }
}

Json data_of(const PlacesTitle& title, const NamedProfile& profile) {
  Json data;
  data["title"] = profile.title;
  data["time"] = time_text(profile.at_ns);
  data["mean_bytes"] = profile.mean_bytes;
  data["is_difference"] = profile.is_difference;
  data["span_s"] = std::round(static_cast<double>(profile.span_ns) / 1e8) / 10;
  data["has_pins"] = profile.has_pins;
  data["first"] = first_column(title);
  data["lost"] = title.lost;
  data["live_bytes"] = or_null(title.live_bytes);
  data["frames"] = Json::array();
  for (const CodeLine& line : profile.frames) {
    data["frames"].push_back({line.function, line.file, line.line});
  }
  std::map<std::string, size_t> tags;
  for (const NamedStack& stack : profile.stacks) tags.try_emplace(stack.tag, 0);
  data["tags"] = Json::array();
  for (auto& [tag, place] : tags) {
    place = data["tags"].size();
    data["tags"].push_back(tag);
  }
  data["stacks"] = Json::array();
  for (const NamedStack& stack : profile.stacks) {
    Json row = Json::array();
    row.push_back(std::vector<uint32_t>(stack.frames.rbegin(), stack.frames.rend()));
    row.push_back(stack.block_bytes);
    const size_t shown = profile.has_pins ? measure_count : usual_measure_count;
    for (size_t i = 0; i < shown; i++) row.push_back(std::llround(stack.measures[i]));
    const LifeBin freed = stack.lives.freed.sum();
    row.push_back(std::llround(freed.blocks));
    row.push_back(freed.seconds);
    row.push_back(tags[stack.tag]);
    data["stacks"].push_back(row);
  }
  data["ages"] = Json::array();
  for (const auto& [age_s, bytes] : profile.ages) {
    data["ages"].push_back({age_s, std::llround(bytes)});
  }
  return data;
}

}  // namespace

std::string profile_as_page(const PlacesTitle& title, const NamedProfile& profile) {
  constexpr std::string_view mark = "@DATA@";
  std::string data;
  for (const char letter : one_line(data_of(title, profile))) {
    data += letter == '<' ? "\\u003c" : std::string(1, letter);
  }
  std::string page = profile_page;
  return page.replace(page.find(mark), mark.size(), data);
}

}  // namespace talus::tool
