// SPDX-License-Identifier: MIT
// model/verdict: runs the scenarios of one protocol and says how it went.
//
// Owns: the two ways a model program is called. Plain: every scenario must hold under all its
// schedules. With `--expect-violation` the program was compiled from a mutant, a copy of the
// shipped protocol with one thing broken: then some scenario must find a violation, which shows
// that the model would notice. A mutant whose text is no longer in the shipped file fails too.
// Called on: the only kernel thread of a model program.
#ifndef TALUS_TESTS_MODEL_VERDICT_HPP
#define TALUS_TESTS_MODEL_VERDICT_HPP

#include <time.h>

#include <cstring>

#include "explore.hpp"

namespace model {

struct Case {
  const char* name;
  Scenario* scenario;
  Bounds bounds;
};

inline double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline void print_bound(const char* name, int bound) {
  if (bound == unbounded) {
    printf(", all %s", name);
  } else {
    printf(", %d %s", bound, name);
  }
}

// The exit status of the program.
template <size_t count>
int verdict(const Case (&cases)[count], int argc, char** argv) {
  const bool wants_violation = argc == 2 && strcmp(argv[1], "--expect-violation") == 0;
#ifdef TALUS_MUTANT_NOT_MADE
  printf("the text to change is not in the shipped file: %s\n", TALUS_MUTANT_NOT_MADE);
  return 1;
#endif
  uint64_t total = 0;
  for (const Case& one : cases) {
    const double start = seconds_now();
    const bool holds = explorer.explore(*one.scenario, one.bounds);
    total += explorer.runs();
    printf("%-34s %9" PRIu64 " schedules, %5.1f s", one.name, explorer.runs(),
           seconds_now() - start);
    print_bound("preemptions", one.bounds.preemptions);
    print_bound("stale reads", one.bounds.stale_reads);
    print_bound("early returns", one.bounds.early_returns);
    printf("\n");
    fflush(stdout);
    if (holds) continue;
    printf("  violation: %s\n", explorer.violation());
    explorer.print_trace();
    return wants_violation ? 0 : 1;
  }
  printf("%" PRIu64 " schedules, no violation\n", total);
  return wants_violation ? 1 : 0;
}

}  // namespace model

#endif  // TALUS_TESTS_MODEL_VERDICT_HPP
