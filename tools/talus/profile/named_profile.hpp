// SPDX-License-Identifier: MIT
//
// Owns: a profile by names, apart from its process: what files and pages hold.
// Invariant: numbers are estimates of all blocks, not of samples. A difference may be negative.
// Must not know: processes, addresses, forms of output.

#ifndef TALUS_TOOLS_TALUS_PROFILE_NAMED_PROFILE_HPP
#define TALUS_TOOLS_TALUS_PROFILE_NAMED_PROFILE_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profile/code_names.hpp"
#include "profile/debug_lines.hpp"
#include "profile/lives.hpp"
#include "profile/samples.hpp"

namespace talus::tool {

struct NamedStack {
  std::vector<uint32_t> frames;  // places in NamedProfile::frames, the innermost first
  uint64_t block_bytes = 0;      // 0: of several sizes
  std::string tag;               // the purpose that the program said; empty: none
  Measures measures{};
  LivesAndAges lives;  // none in a difference
};

struct NamedProfile {
  std::string title;                // which process or file
  uint64_t mean_bytes = 0;          // between samples
  uint64_t at_ns = 0, span_ns = 0;  // when it was read, since 1970; of what time. 0: not known
  bool is_difference = false;
  bool has_pins = false;         // its pinned and purgeable bytes are known
  std::vector<CodeLine> frames;  // each once
  std::vector<NamedStack> stacks;
  std::vector<std::pair<double, double>> ages;  // of live bytes: seconds, and how many
};

NamedProfile named(const std::vector<Place>& places, CodeNames& names);

// What `after` has beyond `before`. Stacks are the same if their functions and lines are.
NamedProfile difference(const NamedProfile& before, const NamedProfile& after);

Measures sum_of(const NamedProfile& profile);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_NAMED_PROFILE_HPP
