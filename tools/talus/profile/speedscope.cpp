// SPDX-License-Identifier: MIT
//
// Owns: see speedscope.hpp.
// Invariant: see speedscope.hpp.
// Must not know: see speedscope.hpp.

#include "profile/speedscope.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "json.hpp"

namespace talus::tool {

std::string speedscope_of(const NamedProfile& profile, Measure first) {
  Json all = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
              {"exporter", std::string("talus ") + TALUS_TOOL_VERSION},
              {"name", profile.title}};
  Json& frames = all["shared"]["frames"] = Json::array();
  for (const CodeLine& line : profile.frames) {
    Json frame = {{"name", line.function}};
    if (!line.file.empty()) frame["file"] = line.file;
    if (line.line != 0) frame["line"] = line.line;
    frames.push_back(frame);
  }
  Json& profiles = all["profiles"] = Json::array();
  for (size_t measure = 0; measure < measure_count; measure++) {
    Json samples = Json::array(), weights = Json::array();
    int64_t sum = 0;
    for (const NamedStack& stack : profile.stacks) {
      const int64_t weight = std::llround(stack.measures[measure]);
      if (weight <= 0) continue;
      samples.push_back(std::vector<uint32_t>(stack.frames.rbegin(), stack.frames.rend()));
      weights.push_back(weight);
      sum += weight;
    }
    if (sum == 0) continue;
    if (measure == first) all["activeProfileIndex"] = profiles.size();
    profiles.push_back({{"type", "sampled"},
                        {"name", measure_words[measure].title},
                        {"unit", measure_words[measure].is_bytes ? "bytes" : "none"},
                        {"startValue", 0},
                        {"endValue", sum},
                        {"samples", samples},
                        {"weights", weights}});
  }
  return one_line(all) + "\n";
}

}  // namespace talus::tool
