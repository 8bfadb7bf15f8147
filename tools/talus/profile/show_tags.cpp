// SPDX-License-Identifier: MIT
//
// Owns: see show_tags.hpp.
// Invariant: see show_tags.hpp.
// Must not know: see show_tags.hpp.

#include "profile/show_tags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "command.hpp"

namespace talus::tool {
namespace {

constexpr size_t rows_of_tag_max = 5;

std::string name_of(const std::string& tag) { return tag.empty() ? "(no tag)" : tag; }

}  // namespace

NamedProfile with_tags_outermost(const NamedProfile& profile) {
  NamedProfile tagged = profile;
  std::map<std::string, uint32_t> frames;
  for (NamedStack& stack : tagged.stacks) {
    const auto next = static_cast<uint32_t>(tagged.frames.size());
    const auto [place, is_new] = frames.try_emplace(name_of(stack.tag), next);
    if (is_new) {
      CodeLine tag;
      tag.function = place->first;
      tagged.frames.push_back(tag);
    }
    stack.frames.push_back(place->second);
  }
  return tagged;
}

std::string show_tags(const PlacesTitle& title, const NamedProfile& profile) {
  std::map<std::string, NamedProfile> tags;
  for (const NamedStack& stack : profile.stacks) {
    tags[name_of(stack.tag)].stacks.push_back(stack);
  }
  std::vector<std::pair<std::string, Measures>> order;
  for (const auto& [tag, one] : tags) order.emplace_back(tag, sum_of(one));
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    const auto weight = [](const Measures& sum) {
      return std::tuple(std::abs(sum[live_bytes]), std::abs(sum[allocated_bytes]));
    };
    return weight(a.second) > weight(b.second);
  });
  std::string text = places_head(title, profile) + "\n" + place_heads("tag, and its functions");
  for (const auto& [tag, sums] : order) {
    NamedProfile& one = tags[tag];
    one.frames = profile.frames;
    text += place_row(sums, profile.is_difference, printable(tag));
    size_t shown = 0;
    for (const PlaceRow& row : rows_of(one, title.detail, live_bytes)) {
      if (shown++ == rows_of_tag_max) break;
      text += place_row(row.measures, profile.is_difference, "  " + row.name);
    }
  }
  return text;
}

}  // namespace talus::tool
