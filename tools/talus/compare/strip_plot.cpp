// SPDX-License-Identifier: MIT
//
// Owns: the drawing of a strip plot, see strip_plot.hpp. The scale begins at 0 if the smallest
// sample is less than a third of the largest. Otherwise it begins at a round number below the
// samples, and a line of text says so. Positions along the scale are shares of the width, while
// letters and dots have a fixed size. The plot is therefore as readable on a phone as on a wide
// screen. Names stand above their strips.
// Invariant: the same samples give the same drawing. The round sets a dot's distance from the line.
// Must not know: which samples are shown or why.

#include "strip_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "show.hpp"

namespace talus::tool {
namespace {

constexpr double strip_height = 44, top = 4, foot = 28, foot_with_words = 48;
constexpr double line_below_name = 28, letter_width = 8;
constexpr double left_share = 9, plot_share = 82;  // per cent; labels need room at both ends
constexpr int steps_wanted = 5;

struct Scale {
  double from = 0;
  double step = 1;
  int steps = 1;

  // In per cent of the drawing's width.
  double place(double value) const {
    return left_share + (value - from) / (step * steps) * plot_share;
  }
};

double unit_of(MeasureId id) { return id == measure_peak ? 1024 : 1; }

// Steps of 1, 2 or 5 times a power of ten, in the unit of the labels.
double round_step(double rough, MeasureId id) {
  const double unit = unit_of(id);
  const double power = std::pow(10, std::floor(std::log10(rough / unit)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough / unit <= factor * power) return factor * power * unit;
  return 10 * power * unit;
}

Scale scale_for(const StripPlot& plot, MeasureId id) {
  double least = INFINITY, most = 0;
  for (const Strip& strip : plot.strips) {
    for (const Dot& dot : strip.dots) {
      least = std::min(least, dot.value);
      most = std::max(most, dot.value);
    }
  }
  Scale scale;
  scale.step = unit_of(id);
  if (!(most > 0)) return scale;
  if (least < most / 3) least = 0;
  const double range = std::max(most - least, most * 0.01);
  scale.step = round_step(range / steps_wanted, id);
  scale.from = std::floor(least / scale.step) * scale.step;
  scale.steps = std::max(1, static_cast<int>(std::ceil((most - scale.from) / scale.step)));
  return scale;
}

std::string strip_of(const Strip& strip, const Scale& scale, double top_of_strip, MeasureId id) {
  const double y = top_of_strip + line_below_name;
  std::string text = fmt::format(
      "<g class=\"{}\"><text x=\"0\" y=\"{}\">{}</text>\n"
      "<line class=\"grid\" x1=\"{}%\" y1=\"{}\" x2=\"{}%\" y2=\"{}\"/>\n",
      strip.kind, top_of_strip + 12, strip.name, left_share, y, left_share + plot_share, y);
  if (strip.dots.empty())
    text += fmt::format("<text class=\"scale\" x=\"{}%\" y=\"{}\">no figure</text>\n", left_share,
                        y - 3);
  for (const Dot& dot : strip.dots) {
    const double off = static_cast<double>(dot.round % 5 - 2) * 2;
    text += fmt::format(
        "<circle cx=\"{:.2f}%\" cy=\"{:.1f}\" r=\"4\"><title>round {}: {}</title></circle>\n",
        scale.place(dot.value), y + off, dot.round, text_of_value(id, dot.value));
  }
  if (!strip.dots.empty()) {
    const double x = scale.place(strip.median);
    text +=
        fmt::format("<line class=\"median\" x1=\"{:.2f}%\" y1=\"{}\" x2=\"{:.2f}%\" y2=\"{}\"/>\n",
                    x, y - 10, x, y + 10);
  }
  return text + "</g>\n";
}

// A line and a label for each step. Narrow screens have room for every second label.
std::string grid_of(const Scale& scale, double bottom, MeasureId id) {
  std::string text;
  for (int i = 0; i <= scale.steps; i++) {
    const double value = scale.from + scale.step * i;
    const double x = scale.place(value);
    text += fmt::format(
        "<line class=\"grid\" x1=\"{:.2f}%\" y1=\"{}\" x2=\"{:.2f}%\" y2=\"{}\"/>"
        "<text class=\"scale{}\" x=\"{:.2f}%\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        x, top, x, bottom, i % 2 == 0 ? "" : " second", x, bottom + 18,
        text_of_value(id, value, scale.step));
  }
  if (scale.from > 0) {
    text += fmt::format(
        "<text class=\"scale\" x=\"0\" y=\"{}\">The scale begins at {}, not at 0."
        "</text>\n",
        bottom + 38, text_of_value(id, scale.from, scale.step));
  }
  return text;
}

}  // namespace

std::string svg_of(const StripPlot& plot, MeasureId id) {
  const Scale scale = scale_for(plot, id);
  const double bottom = top + strip_height * static_cast<double>(plot.strips.size());
  size_t letters = 0;
  for (const Strip& strip : plot.strips) letters = std::max(letters, strip.name.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" height=\"{}\" role=\"img\" "
      "style=\"min-width: {}px\">\n<title>{}: every sample</title>\n",
      bottom + (scale.from > 0 ? foot_with_words : foot),
      static_cast<double>(letters) * letter_width, plot.title);
  text += grid_of(scale, bottom, id);
  for (size_t i = 0; i < plot.strips.size(); i++)
    text += strip_of(plot.strips[i], scale, top + strip_height * static_cast<double>(i), id);
  return text + "</svg>\n";
}

}  // namespace talus::tool
