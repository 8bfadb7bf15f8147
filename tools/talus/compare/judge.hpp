// SPDX-License-Identifier: MIT
//
// Owns: the conclusions of a comparison: the figures of each allocator, the differences that the
// samples can show, and failures.
// Invariant: a figure uses only runs that ended and wrote as the program usually does under the
// reference. A run that crashed or did something else is a finding, never a number.
// Must not know: how anything is printed.

#ifndef TALUS_TOOLS_TALUS_COMPARE_JUDGE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_JUDGE_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "samples.hpp"

namespace talus::tool {

enum MeasureId {
  measure_wall,
  measure_peak,
  measure_cpu,
  measure_user,
  measure_sys,
  measure_minor_faults,
  measure_major_faults,
  measure_voluntary,
  measure_involuntary,
  measure_count
};

struct Measure {
  const char* key;  // in JSON
  const char* title;
  double Sample::*value;
};

inline constexpr std::array<Measure, measure_count> measures{{
    {"wall_s", "wall time", &Sample::wall_s},
    {"peak_rss_kib", "peak RSS", &Sample::peak_kib},
    {"cpu_s", "processor time", &Sample::cpu_s},
    {"user_s", "user", &Sample::user_s},
    {"sys_s", "sys", &Sample::sys_s},
    {"minor_faults", "page faults", &Sample::minor_faults},
    {"major_faults", "major faults", &Sample::major_faults},
    {"voluntary_switches", "switches", &Sample::voluntary},
    {"involuntary_switches", "forced switches", &Sample::involuntary},
}};

// An allocator's median divided by the reference's median.
struct Ratio {
  double value = 1;
  double low = 1;  // ends of the 95 % interval
  double high = 1;
  // The interval excludes 1, and the difference is larger than either spread.
  bool is_shown = false;
};

// With 3 rounds, one in five comparisons of equal allocators shows a difference. With 5 or more
// rounds it is one in twenty, as a 95 % interval promises.
constexpr size_t rounds_least = 5;

struct Figure {
  double median = 0;
  double spread = 0;  // half the distance between the quartiles
  bool has_ratio = false;
  Ratio ratio;
  bool is_best = false;  // the lowest, and separated from every other
};

struct Verdict {
  size_t counted = 0;  // samples behind the figures; 0: no figures
  std::array<Figure, measure_count> figures;
};

// The behaviour of the program under the reference.
struct Usual {
  End end;
  bool is_output_known = false;  // all runs of the reference wrote the same
  uint64_t output_bytes = 0;
  uint64_t output_hash = 0;
};

// The measure of time that decides. Users wait for wall time. Where other work makes wall time
// noisy, processor time shows more.
struct TimeChoice {
  MeasureId id = measure_wall;  // or measure_cpu
  bool has_widths = false;      // false: no comparison, or too few rounds
  double wall_width = 0;        // median width of the ratios' intervals, as a share of the ratio
  double cpu_width = 0;
};

struct Judgement {
  Usual usual;
  TimeChoice time;
  std::string verdict;  // one line: the first Talus row beside the reference
  std::string ranking;  // the best allocators in time and memory; empty for two allocators
  std::vector<Verdict> verdicts;      // in the order of the contenders
  std::vector<std::string> failures;  // a run failed, or the program behaved differently
  std::vector<std::string> notes;     // facts that a reader of the figures needs
};

Judgement judge(const Comparison& comparison);

bool has_usual_output(const Sample& sample, const Usual& usual);
bool is_counted(const Sample& sample, const Usual& usual);

// "exit status 3", "signal 11 (Segmentation fault)", "timed out"
std::string words_for(const End& end);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_JUDGE_HPP
