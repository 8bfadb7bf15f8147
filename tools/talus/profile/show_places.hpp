// SPDX-License-Identifier: MIT
//
// Owns: the forms of a profile for people, and for programs that read collapsed stacks.
// Invariant: a function that was inlined is shown as one that was called.
// Must not know: how samples are read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SHOW_PLACES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SHOW_PLACES_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/lives.hpp"
#include "profile/named_profile.hpp"
#include "profile/views.hpp"

namespace talus::tool {

enum class NameDetail { functions, lines };  // lines: with file and line

struct PlacesTitle {
  uint64_t lost = 0;
  std::optional<uint64_t> live_bytes;  // of all blocks; nothing: not known
  bool is_span = false;                // allocations are those of a span of time
  std::optional<double> peak_ago_s;    // nothing: not known
  ProfileView view = ProfileView::live;
  NameDetail detail = NameDetail::functions;
};

// Measures summed up by the innermost functions.
struct PlaceRow {
  std::string name;
  Measures measures{};
  LivesAndAges lives;
};
// Those with most of this measure first, then those that allocated most. Signs do not count.
std::vector<PlaceRow> rows_of(const NamedProfile& profile, NameDetail detail, Measure first);

// What stands above a table.
std::string places_head(const PlacesTitle& title, const NamedProfile& profile);

// A table of the first rows.
std::string show_places(const PlacesTitle& title, const NamedProfile& profile);

// What lives and what was allocated: a row of a table, and its heads.
std::string place_heads(const std::string& name);
std::string place_row(const Measures& sum, bool is_difference, const std::string& name);

// `outer;inner BYTES` lines.
std::string collapsed(const NamedProfile& profile, Measure measure, NameDetail detail);

// "1.5 KiB".
std::string size_text(double bytes);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SHOW_PLACES_HPP
