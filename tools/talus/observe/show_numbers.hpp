// SPDX-License-Identifier: MIT
//
// Owns: the forms of numbers: text for people, JSON, CSV and OpenMetrics. They are the library's
// forms (src/statistics/statistics_forms.hpp), with what only a look from outside knows.
// Invariant: all names come from the tables of settings/statistics.hpp.
// Must not know: where numbers come from.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_SHOW_NUMBERS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_SHOW_NUMBERS_HPP

#include <string>
#include <vector>

#include "observe/numbers.hpp"

namespace talus::tool {

std::string show_text(const std::vector<Numbers>& all);
// One line, an object, for each Talus in the process.
std::string show_json(const std::vector<Numbers>& all);
std::string csv_header();
std::string show_csv(const std::vector<Numbers>& all);
std::string show_openmetrics(const std::vector<Numbers>& all);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_SHOW_NUMBERS_HPP
