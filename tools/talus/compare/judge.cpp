// SPDX-License-Identifier: MIT
//
// Owns: the figures of a comparison, see judge.hpp. findings.cpp has the failures and the notes.
// Invariant: two allocators are called different only if both the interval of their ratio and the
// spread of their samples show it.
// Must not know: how anything is printed.

#include "judge.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "findings.hpp"
#include "statistics.hpp"
#include "verdict.hpp"

namespace talus::tool {
namespace {

constexpr double noisy_width = 0.05;   // of an interval, as a share of the ratio
constexpr double cpu_least_s = 0.002;  // below, the start of the program takes most of the time

std::vector<double> values_of(const Contender& contender, const Measure& measure,
                              const Usual& usual) {
  std::vector<double> values;
  for (const Sample& sample : contender.samples)
    if (is_counted(sample, usual)) values.push_back(sample.*measure.value);
  return values;
}

// The values of the rounds in which both runs ended as usual.
std::vector<std::pair<double, double>> rounds_of(const Contender& one, const Contender& other,
                                                 const Measure& measure, const Usual& usual) {
  std::vector<std::pair<double, double>> rounds;
  for (const Sample& first : one.samples) {
    for (const Sample& second : other.samples) {
      const bool is_pair = first.round == second.round && is_counted(first, usual) &&
                           is_counted(second, usual) && second.*measure.value > 0;
      if (is_pair) rounds.emplace_back(first.*measure.value, second.*measure.value);
    }
  }
  return rounds;
}

// False if there are no rounds to compare.
bool compare(const Contender& one, const Contender& other, const Measure& measure,
             const Usual& usual, Ratio& ratio) {
  const auto rounds = rounds_of(one, other, measure, usual);
  if (rounds.empty()) return false;
  const std::vector<double> mine = values_of(one, measure, usual);
  const std::vector<double> others = values_of(other, measure, usual);
  const double reference = median(others);
  if (reference <= 0) return false;
  ratio.value = median(mine) / reference;
  const Interval interval = ratio_interval(rounds);
  ratio.low = interval.low;
  ratio.high = interval.high;
  const double spread = std::max(half_spread(mine), half_spread(others)) / reference;
  const bool is_outside = interval.low > 1 || interval.high < 1;
  ratio.is_shown =
      rounds.size() >= rounds_least && is_outside && std::abs(ratio.value - 1) > spread;
  return true;
}

// At most one star: the lowest median, if the samples separate it from every other.
void mark_best(const Comparison& comparison, MeasureId id, Judgement& judgement) {
  const auto& contenders = comparison.contenders;
  size_t best = contenders.size();
  size_t candidates = 0;
  for (size_t i = 0; i < contenders.size(); i++) {
    if (judgement.verdicts[i].counted == 0) continue;
    candidates++;
    const double value = judgement.verdicts[i].figures[id].median;
    if (best == contenders.size() || value < judgement.verdicts[best].figures[id].median) best = i;
  }
  if (candidates < 2) return;
  for (size_t i = 0; i < contenders.size(); i++) {
    if (i == best || judgement.verdicts[i].counted == 0) continue;
    Ratio ratio;
    compare(contenders[i], contenders[best], measures[id], judgement.usual, ratio);
    if (!ratio.is_shown) return;
  }
  judgement.verdicts[best].figures[id].is_best = true;
}

// The median over the allocators of the widths of the intervals; negative: there is none.
double width_of_intervals(const Comparison& comparison, const Judgement& judgement, MeasureId id) {
  std::vector<double> widths;
  for (size_t i = 0; i < judgement.verdicts.size(); i++) {
    const Figure& figure = judgement.verdicts[i].figures[id];
    const bool is_usable = i != comparison.reference && figure.has_ratio &&
                           figure.ratio.value > 0 && judgement.verdicts[i].counted >= rounds_least;
    if (is_usable) widths.push_back((figure.ratio.high - figure.ratio.low) / figure.ratio.value);
  }
  return widths.empty() ? -1 : median(widths);
}

// Chooses by the widths of the intervals alone. A choice by the differences would find false ones.
TimeChoice choose_time(const Comparison& comparison, const Judgement& judgement) {
  TimeChoice choice;
  choice.wall_width = width_of_intervals(comparison, judgement, measure_wall);
  choice.cpu_width = width_of_intervals(comparison, judgement, measure_cpu);
  choice.has_widths = choice.wall_width >= 0 && choice.cpu_width >= 0;
  const bool is_too_short =
      judgement.verdicts[comparison.reference].figures[measure_cpu].median < cpu_least_s;
  const bool is_noisy = choice.has_widths && choice.wall_width > noisy_width && !is_too_short;
  if (is_noisy && choice.cpu_width < choice.wall_width) choice.id = measure_cpu;
  return choice;
}

// The program's most frequent own end under the reference. Success if it never ended by itself.
End usual_end_of(const Contender& reference) {
  End usual{EndKind::exited, 0};
  std::ptrdiff_t most = 0;
  for (const Sample& sample : reference.samples) {
    const auto same = std::count_if(reference.samples.begin(), reference.samples.end(),
                                    [&](auto& other) { return other.end == sample.end; });
    if (!sample.end.is_own() || same <= most) continue;
    most = same;
    usual = sample.end;
  }
  return usual;
}

Usual usual_of(const Contender& reference) {
  Usual usual{usual_end_of(reference)};
  bool has_first = false;
  for (const auto* const list : {&reference.warm_ups, &reference.samples}) {
    for (const Sample& sample : *list) {
      if (sample.end != usual.end) continue;
      if (!has_first) {
        usual = {usual.end, true, sample.output_bytes, sample.output_hash};
      } else if (usual.is_output_known && !has_usual_output(sample, usual)) {
        usual.is_output_known = false;
      }
      has_first = true;
    }
  }
  return usual;
}

}  // namespace

bool has_usual_output(const Sample& sample, const Usual& usual) {
  return !usual.is_output_known ||
         (sample.output_bytes == usual.output_bytes && sample.output_hash == usual.output_hash);
}

bool is_counted(const Sample& sample, const Usual& usual) {
  return sample.round > 0 && sample.end == usual.end && has_usual_output(sample, usual);
}

Judgement judge(const Comparison& comparison) {
  Judgement judgement;
  const Contender& reference = comparison.contenders[comparison.reference];
  judgement.usual = usual_of(reference);
  for (const Contender& contender : comparison.contenders) {
    Verdict verdict;
    for (size_t id = 0; id < measure_count; id++) {
      const std::vector<double> values = values_of(contender, measures[id], judgement.usual);
      verdict.counted = values.size();
      if (values.empty()) break;
      Figure& figure = verdict.figures[id];
      figure.median = median(values);
      figure.spread = half_spread(values);
      figure.has_ratio = compare(contender, reference, measures[id], judgement.usual, figure.ratio);
    }
    judgement.verdicts.push_back(verdict);
  }
  judgement.time = choose_time(comparison, judgement);
  mark_best(comparison, judgement.time.id, judgement);
  mark_best(comparison, measure_peak, judgement);
  add_failures(comparison, judgement);
  add_notes(comparison, judgement);
  add_verdict(comparison, judgement);
  return judgement;
}

}  // namespace talus::tool
