// SPDX-License-Identifier: MIT
//
// Owns: a strip plot as inline SVG: a line for each allocator, a dot for each sample, a stroke at
// the median. The benchmarks' plots (bench/report/chart_strips.py) differ: they show intervals,
// noisy and failed runs.
// Invariant: colours come from the page's style, so the plot follows light and dark.
// Must not know: which samples are shown or why.

#ifndef TALUS_TOOLS_TALUS_COMPARE_STRIP_PLOT_HPP
#define TALUS_TOOLS_TALUS_COMPARE_STRIP_PLOT_HPP

#include <string>
#include <vector>

#include "judge.hpp"

namespace talus::tool {

struct Dot {
  double value;
  int round;
};

struct Strip {
  std::string name;  // escaped
  std::string kind;  // class in the page's style
  std::vector<Dot> dots;
  double median = 0;
};

struct StripPlot {
  std::string title;
  std::vector<Strip> strips;
};

// `id` selects the unit.
std::string svg_of(const StripPlot& plot, MeasureId id);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_STRIP_PLOT_HPP
