// SPDX-License-Identifier: MIT
//
// Owns: the names of rates: what changes by the second.
// Invariant: none is a statistic, because each needs two looks.
// Must not know: how rates are found or shown.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_RATE_ROWS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_RATE_ROWS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace talus::tool {

enum class RateUnit : uint8_t { count, bytes, percent };

struct RateRow {
  const char* name;   // in JSON
  const char* label;  // for people
  RateUnit unit;
};
// Processor time is a share of one processor. A refill is a trip of a thread to a slab for blocks.
constexpr RateRow rate_rows[] = {{"cpu_percent", "processor", RateUnit::percent},
                                 {"minor_faults", "minor page faults", RateUnit::count},
                                 {"major_faults", "major page faults", RateUnit::count},
                                 {"purged_bytes", "given back to the kernel", RateUnit::bytes},
                                 {"purges", "steps of giving back", RateUnit::count},
                                 {"refills", "refills of lists", RateUnit::count},
                                 {"allocations", "allocations", RateUnit::count},
                                 {"frees", "frees", RateUnit::count},
                                 {"requested_bytes", "requested", RateUnit::bytes}};
constexpr size_t rate_count = sizeof rate_rows / sizeof rate_rows[0];

// As rate_rows.
using Rates = std::array<std::optional<double>, rate_count>;

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_RATE_ROWS_HPP
