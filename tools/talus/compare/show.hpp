// SPDX-License-Identifier: MIT
//
// Owns: the forms of a comparison: tables for the terminal and as Markdown, a page of HTML, JSON
// and CSV.
// Invariant: all show the same samples and the same judgement; none computes a figure.
// Must not know: how a run is made.

#ifndef TALUS_TOOLS_TALUS_COMPARE_SHOW_HPP
#define TALUS_TOOLS_TALUS_COMPARE_SHOW_HPP

#include <array>
#include <string>
#include <vector>

#include "judge.hpp"
#include "samples.hpp"

namespace talus::tool {

std::string table_of(const Comparison& comparison, const Judgement& judgement);
std::string html_of(const Comparison& comparison, const Judgement& judgement);
std::string json_of(const Comparison& comparison, const Judgement& judgement);
std::string csv_of(const Comparison& comparison, const Judgement& judgement);
std::string markdown_of(const Comparison& comparison, const Judgement& judgement);

// "12.3 ms", "4.56 MiB", "1234": a figure in the unit of its measure. It has the digits needed to
// tell apart two figures that differ by a round `step`.
std::string text_of_value(MeasureId id, double value, double step = 0);

// "0.812 [0.79, 0.83]", with a ~ if the samples show no difference; "1" for the reference itself.
std::string text_of_ratio(const Figure& figure, bool is_reference);

// "±2 %"; empty if there is no median to relate it to.
std::string text_of_spread(const Figure& figure);

// The words on one line, quoted for a shell.
std::string shell_text(const std::vector<std::string>& words);

// "3 of 3 rounds, 1 warm-up, medians"
std::string text_of_rounds(const Comparison& comparison);

// A measure with spread and ratio, and two measures beside it: one table of every form.
struct Section {
  MeasureId main;
  std::array<MeasureId, 2> beside;
};
inline constexpr std::array<Section, 3> sections{{
    {measure_wall, {measure_voluntary, measure_involuntary}},
    {measure_cpu, {measure_user, measure_sys}},
    {measure_peak, {measure_minor_faults, measure_major_faults}},
}};

// The text below the figures in every form.
inline constexpr const char* legend_lines[] = {
    "± half the distance of the quartiles; [ ] 95 % interval of the ratio (bootstrap over rounds)",
    "* best, and clearly apart from every other; ~ this run shows no difference",
    "peak RSS: of the largest single process; the rest: the program and the children it waited "
    "for"};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_SHOW_HPP
