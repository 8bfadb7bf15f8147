// SPDX-License-Identifier: MIT
//
// Owns: the wording of the verdict, see verdict.hpp.
// Invariant: "clear" and "told apart" mean Ratio::is_shown and nothing else.
// Must not know: where the sentences are printed.

#include "verdict.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace talus::tool {
namespace {

std::string name_of(const Allocator& allocator) {
  if (allocator.path.empty()) return "the C library";
  return allocator.name == "talus" ? "Talus" : allocator.name;
}

// Two decimals, or more if the factor is close to 1.
std::string factor_text(double factor) {
  for (const int digits : {2, 3, 4}) {
    const std::string text = fmt::format("{:.{}f}", factor, digits);
    if (std::abs(std::stod(text) - 1) > 1e-9) return text;
  }
  return fmt::format("{:.5f}", factor);
}

// "is 1.32 times as fast as the C library", "needs 0.81 of the C library's processor time"
std::string time_words(MeasureId id, double ratio, const std::string& other) {
  if (id == measure_wall && ratio < 1)
    return fmt::format("is {} times as fast as {}", factor_text(1 / ratio), other);
  if (id == measure_wall)
    return fmt::format("takes {} times as long as {}", factor_text(ratio), other);
  return fmt::format("needs {} {} {}'s processor time", factor_text(ratio),
                     ratio < 1 ? "of" : "times", other);
}

std::string memory_words(double ratio, const std::string& owner) {
  return fmt::format("{} {} {} memory", factor_text(ratio), ratio < 1 ? "of" : "times", owner);
}

const char* short_name(MeasureId id) { return id == measure_wall ? "time" : "processor time"; }

std::string difference_words(const std::string& one, const std::string& other, MeasureId time,
                             const Verdict& verdict) {
  const Ratio& by_time = verdict.figures[time].ratio;
  const Ratio& by_peak = verdict.figures[measure_peak].ratio;
  const std::string time_part = one + " " + time_words(time, by_time.value, other);
  if (by_time.is_shown && by_peak.is_shown) {
    return fmt::format("{} and{} {}; both differences are clear.", time_part,
                       time == measure_wall ? " needs" : "", memory_words(by_peak.value, "its"));
  }
  if (by_time.is_shown)
    return time_part + "; the difference is clear. By memory they cannot be told apart.";
  if (by_peak.is_shown) {
    return fmt::format("{} needs {}; the difference is clear. By {} they cannot be told apart.",
                       one, memory_words(by_peak.value, other + "'s"), short_name(time));
  }
  return fmt::format("{} and {} cannot be told apart, neither by {} nor by memory.", one, other,
                     short_name(time));
}

std::string best_words(const Comparison& comparison, const Judgement& judgement, MeasureId id) {
  for (size_t i = 0; i < judgement.verdicts.size(); i++)
    if (judgement.verdicts[i].figures[id].is_best)
      return name_of(comparison.contenders[i].allocator);
  return "the first cannot be told from the next";
}

}  // namespace

size_t subject_of(const Comparison& comparison, const Judgement& judgement) {
  const auto& contenders = comparison.contenders;
  size_t subject = comparison.reference;
  for (size_t i = 0; i < contenders.size(); i++) {
    if (i == comparison.reference) continue;
    if (contenders[i].allocator.is_talus) return i;
    const auto time_of = [&](size_t row) {
      return judgement.verdicts[row].figures[judgement.time.id].median;
    };
    const bool is_better = subject == comparison.reference ||
                           judgement.verdicts[subject].counted == 0 ||
                           time_of(i) < time_of(subject);
    if (is_better && (judgement.verdicts[i].counted > 0 || subject == comparison.reference))
      subject = i;
  }
  return subject;
}

void add_verdict(const Comparison& comparison, Judgement& judgement) {
  const size_t subject = subject_of(comparison, judgement);
  const std::string one = name_of(comparison.contenders[subject].allocator);
  const std::string other = name_of(comparison.contenders[comparison.reference].allocator);
  const Verdict& verdict = judgement.verdicts[subject];
  if (judgement.verdicts[comparison.reference].counted == 0) {
    judgement.verdict = fmt::format("There is no verdict: no run under {} counts.", other);
  } else if (verdict.counted == 0) {
    judgement.verdict = fmt::format(
        "{} has no figures: none of its runs did what the program does "
        "under {}.",
        one, other);
  } else if (verdict.counted < rounds_least) {
    judgement.verdict =
        fmt::format("{} and {} cannot be told apart by {} {}: at least {} are needed.", one, other,
                    verdict.counted, verdict.counted == 1 ? "round" : "rounds", rounds_least);
  } else {
    judgement.verdict = difference_words(one, other, judgement.time.id, verdict);
  }
  if (!judgement.failures.empty())
    judgement.verdict += " Not every run was good: see the failures.";

  size_t compared = 0;
  for (const Verdict& each : judgement.verdicts) compared += each.counted >= rounds_least ? 1 : 0;
  if (compared > 2) {
    judgement.ranking = fmt::format("Of {} allocators, quickest: {}; least memory: {}.", compared,
                                    best_words(comparison, judgement, judgement.time.id),
                                    best_words(comparison, judgement, measure_peak));
  }
}

std::string text_of_time(const TimeChoice& time) {
  if (!time.has_widths) return "Wall time decides.";
  const double wall = 100 * time.wall_width;
  const double cpu = 100 * time.cpu_width;
  if (time.id == measure_cpu) {
    return fmt::format(
        "Processor time decides, since wall time is noisy: the intervals of their "
        "ratios are {:.1f} % and {:.1f} % wide.",
        cpu, wall);
  }
  return fmt::format("Wall time decides: the intervals of its ratios are {:.1f} % wide.", wall);
}

}  // namespace talus::tool
