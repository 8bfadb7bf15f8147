// SPDX-License-Identifier: MIT
//
// Owns: the picture of resident memory as text for people, and as JSON.
// Invariant: names from the process cannot control the terminal.
// Must not know: where the bytes come from.

#ifndef TALUS_TOOLS_TALUS_WHY_SHOW_WHY_HPP
#define TALUS_TOOLS_TALUS_WHY_SHOW_WHY_HPP

#include <string>
#include <vector>

#include "terminal.hpp"
#include "why/advice.hpp"
#include "why/picture.hpp"
#include "why/sites.hpp"

namespace talus::tool {

// What the picture is of.
struct PictureTitle {
  std::string name;  // of the program, or the path of a core file
  uint64_t process_id = 0;
  std::string version;
  bool is_consistent = false;
  std::string why_not;
  std::vector<SitePicture> sites;  // empty: there is no profile
};

std::string show_why(const Terminal& terminal, const PictureTitle& title, const Picture& picture,
                     const std::vector<Advice>& advice);
std::string show_why_json(const PictureTitle& title, const Picture& picture,
                          const std::vector<Advice>& advice);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_WHY_SHOW_WHY_HPP
