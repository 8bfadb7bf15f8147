// SPDX-License-Identifier: MIT
//
// Owns: the drawing of a strip plot, see strip_plot.hpp. The scale starts at 0 where the samples
// reach down to less than a third of the largest; else at a round number below them, and its labels
// say so.
// Invariant: the same samples give the same drawing: dots stand off the line by their round.
// Must not know: which samples are shown or why.

#include "strip_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "show.hpp"

namespace talus::tool {
namespace {

constexpr double right = 45, strip_height = 30, top = 12, foot = 28;
constexpr double names_least = 150, plot_width = 680, letter_width = 8;
constexpr int steps_wanted = 5;

struct Scale {
  double left = names_least;  // where the line begins, behind the names
  double from = 0;
  double step = 1;
  int steps = 1;

  double place(double value) const {
    return left + (value - from) / (step * steps) * plot_width;
  }
};

double unit_of(MeasureId id) { return id == measure_peak ? 1024 : 1; }

// Steps of 1, 2 or 5 times a power of ten, in the unit that the labels have.
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
  for (const Strip& strip : plot.strips)
    scale.left = std::max(scale.left, static_cast<double>(strip.name.size()) * letter_width + 24);
  scale.step = unit_of(id);
  if (!(most > 0)) return scale;
  if (least < most / 3) least = 0;
  const double range = std::max(most - least, most * 0.01);
  scale.step = round_step(range / steps_wanted, id);
  scale.from = std::floor(least / scale.step) * scale.step;
  scale.steps = std::max(1, static_cast<int>(std::ceil((most - scale.from) / scale.step)));
  return scale;
}

std::string strip_of(const Strip& strip, const Scale& scale, double y, MeasureId id) {
  std::string text = fmt::format(
      "<g class=\"{}\"><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
      "<line class=\"grid\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n",
      strip.kind, scale.left - 12, y + 4, strip.name, scale.left, y,
      scale.left + plot_width, y);
  if (strip.dots.empty())
    text += fmt::format("<text class=\"scale\" x=\"{}\" y=\"{}\">no figure</text>\n",
                        scale.left + 8, y - 3);
  for (const Dot& dot : strip.dots) {
    const double off = static_cast<double>(dot.round % 5 - 2) * 2.5;
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>round {}: {}</title></circle>\n",
        scale.place(dot.value), y + off, dot.round, text_of_value(id, dot.value));
  }
  if (!strip.dots.empty()) {
    const double x = scale.place(strip.median);
    text += fmt::format(
        "<line class=\"median\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>\n", x, y - 11, x,
        y + 11);
  }
  return text + "</g>\n";
}

}  // namespace

std::string svg_of(const StripPlot& plot, MeasureId id) {
  const Scale scale = scale_for(plot, id);
  const double width = scale.left + plot_width + right;
  const double bottom = top + strip_height * static_cast<double>(plot.strips.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\">\n"
      "<title>{}: every sample</title>\n",
      width, bottom + foot, width, plot.title);
  for (int i = 0; i <= scale.steps; ++i) {
    const double value = scale.from + scale.step * i;
    const double x = scale.place(value);
    text += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>"
        "<text class=\"scale\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        x, top, x, bottom, x, bottom + 18, text_of_value(id, value, scale.step));
  }
  for (std::size_t i = 0; i < plot.strips.size(); ++i)
    text += strip_of(plot.strips[i], scale,
                     top + strip_height * (static_cast<double>(i) + 0.5), id);
  return text + "</svg>\n";
}

}  // namespace talus::tool
