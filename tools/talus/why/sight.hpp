// SPDX-License-Identifier: MIT
//
// Owns: one look at a process for a view: its pieces, its mappings and the picture of both.
// Invariant: a look during which resident memory changed is tried again a few times.
// Must not know: which view shows it.

#ifndef TALUS_TOOLS_TALUS_WHY_SIGHT_HPP
#define TALUS_TOOLS_TALUS_WHY_SIGHT_HPP

#include <vector>

#include "observe/mapped_areas.hpp"
#include "observe/target.hpp"
#include "why/picture.hpp"
#include "why/show_why.hpp"

namespace talus::tool {

struct Sight {
  Observation seen;
  std::vector<MappedArea> areas;
  PictureTitle title;
  Picture picture;

  bool is_seen() const { return !seen.numbers.empty() && !seen.numbers.front().is_damaged; }
};

// Complains where there is something to say.
Sight see(const Target& target);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_WHY_SIGHT_HPP
