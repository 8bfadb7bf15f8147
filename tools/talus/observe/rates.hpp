// SPDX-License-Identifier: MIT
//
// Owns: what changed from one look to the next, by the second.
// Invariant: a rate is unknown at the first look, and where its number is.
// Must not know: how rates are shown.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_RATES_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_RATES_HPP

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/numbers.hpp"
#include "observe/rate_rows.hpp"

namespace talus::tool {

class RateMeter {
 public:
  using Clock = std::chrono::steady_clock;

  // The looks into one process, made now; each gets its rates.
  void note(std::vector<Numbers>& looks, Clock::time_point now);

 private:
  using Counts = std::array<std::optional<uint64_t>, rate_count>;
  struct Seen {
    Clock::time_point at;
    Counts counts;
  };
  static Counts counts_of(const Numbers& numbers);

  std::map<std::string, Seen> last_;  // by the object that carries Talus
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_RATES_HPP
