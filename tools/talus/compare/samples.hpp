// SPDX-License-Identifier: MIT
//
// Owns: the data of a comparison: the cost and the end of each run, its allocator, and whether that
// allocator was really loaded.
// Invariant: a sample never changes after its run. judge.hpp draws the conclusions.
// Must not know: how a run is made, or how anything is printed.

#ifndef TALUS_TOOLS_TALUS_COMPARE_SAMPLES_HPP
#define TALUS_TOOLS_TALUS_COMPARE_SAMPLES_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace talus::tool {

enum class EndKind { exited, signalled, timed_out, interrupted, not_started };

struct End {
  EndKind kind = EndKind::not_started;
  int number = 0;  // exit status, signal or errno

  bool operator==(const End&) const = default;
  bool is_success() const { return kind == EndKind::exited && number == 0; }
  // The program ended by itself, so its cost is known.
  bool is_own() const { return kind == EndKind::exited || kind == EndKind::signalled; }
};

// Times and counts cover the program and all processes it waited for, as wait4 reports them.
struct Sample {
  int round = 0;  // 0: warm-up
  End end;
  double wall_s = 0;
  double user_s = 0;
  double sys_s = 0;
  double cpu_s = 0;         // user and sys: exact, while the kernel samples the split
  double peak_kib = 0;      // of the largest single process
  double floor_kib = 0;     // the kernel's count before the program's first instruction
  double minor_faults = 0;  // pages mapped without reading a file
  double major_faults = 0;  // pages read from a file
  double voluntary = 0;     // switches because a thread waited
  double involuntary = 0;   // switches because its time was up
  uint64_t output_bytes = 0;
  uint64_t output_hash = 0;    // FNV-1a of standard output
  std::string last_words;      // the end of standard error
  bool has_leftovers = false;  // processes of the run had to be ended after it
};

enum class Presence {
  not_needed,  // the C library, which is always loaded
  present,     // seen in the program
  absent,      // the loader ran and did not load it
  unknown      // neither the loader nor /proc showed it
};

// Observations of the library during the first warm-up run.
struct Sighting {
  Presence presence = Presence::unknown;
  int processes = 0;                 // programs whose start the loader recorded
  int processes_with = 0;            // of these, programs with the library
  std::vector<std::string> without;  // programs that ran without the library, each with its reason
  std::vector<std::string> others;   // other allocators that were loaded at start
};

struct Allocator {
  std::string name;
  std::string path;  // absolute; empty: the C library
  bool is_talus = false;
  std::vector<std::string> settings;  // NAME=value, for its runs only
};

struct Contender {
  Allocator allocator;
  Sighting sighting;
  std::vector<Sample> warm_ups;
  std::vector<Sample> samples;
  std::string left_out;  // why it stopped early; empty: it took part to the end
};

struct Comparison {
  std::vector<std::string> program;
  std::vector<std::string> command;      // the whole command line
  std::vector<std::string> environment;  // NAME=value, the options of Talus in the environment
  std::string date;                      // of the start: 2026-11-26T21:56:24Z
  std::string standard_input;            // a file
  int rounds = 0;
  int rounds_done = 0;  // rounds in which every allocator ran
  int warm_up = 0;
  double timeout_s = 0;
  int stopped_by = 0;  // the signal that ended the comparison early
  size_t reference = 0;
  std::vector<Contender> contenders;
  std::vector<std::string> notes;  // on the program, known before the first run
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_SAMPLES_HPP
