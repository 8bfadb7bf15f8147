// SPDX-License-Identifier: MIT
// api/statistics: talus_get, talus_thread_allocated and talus_stats_print.
//
// Owns: the checks of their arguments. Invariant: they return errors and keep errno. Called on: any
// thread. Must not know: names and forms.
#ifndef TALUS_API_STATISTICS_HPP
#define TALUS_API_STATISTICS_HPP

#include <errno.h>

#include "talus/talus.h"
#include "settings/options.hpp"
#include "modes/allocated.hpp"
#include "statistics/print_statistics.hpp"
#include "statistics/statistics.hpp"

namespace talus::core::api {

inline int get_value(const char* name, uint64_t* value) noexcept {
  if (name == nullptr || value == nullptr) return EINVAL;
  uint64_t found = 0;
  const int error = get_statistic(name, found);
  if (error == 0) *value = found;
  return error;
}

inline uint64_t thread_allocated() noexcept { return allocated::by_this_thread(); }

static_assert(TALUS_STATS_TEXT == static_cast<int>(StatsFormat::text) &&
                  TALUS_STATS_JSON == static_cast<int>(StatsFormat::json) &&
                  TALUS_STATS_CSV == static_cast<int>(StatsFormat::csv) &&
                  TALUS_STATS_OPENMETRICS == static_cast<int>(StatsFormat::openmetrics),
              "talus.h and the option name the same forms");

inline int stats_print(int descriptor, int format) noexcept {
  if (format < TALUS_STATS_TEXT || format > TALUS_STATS_OPENMETRICS) return EINVAL;
  return print_statistics(descriptor, StatsFormat(static_cast<uint8_t>(format)));
}

}  // namespace talus::core::api

#endif  // TALUS_API_STATISTICS_HPP
