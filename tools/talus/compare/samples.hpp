// SPDX-License-Identifier: MIT
//
// Owns: the data of a comparison: what one run of the program cost and how it ended, which
// allocator it ran under, and whether that allocator was really there.
// Invariant: a sample is never changed after its run; what may be said about it is judge.hpp's.
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
  // The program came to an end of its own, so what it cost can be told.
  bool is_own() const { return kind == EndKind::exited || kind == EndKind::signalled; }
};

// Times and counts are of the program and of all processes it waited for, as wait4 tells them.
struct Sample {
  int round = 0;  // 0: warm-up
  End end;
  double wall_s = 0;
  double user_s = 0;
  double sys_s = 0;
  double cpu_s = 0;         // user and sys: exact, while the kernel samples how it divides
  double peak_kib = 0;      // of the largest single process
  double floor_kib = 0;     // what the kernel counts before the program's first instruction
  double minor_faults = 0;  // pages mapped without reading a file
  double major_faults = 0;  // pages read from a file
  double voluntary = 0;     // switches because a thread waited
  double involuntary = 0;   // switches because its time was up
  uint64_t output_bytes = 0;
  uint64_t output_hash = 0;    // FNV-1a of standard output
  std::string last_words;      // the end of standard error
  bool has_leftovers = false;  // it left processes behind, which were ended
};

enum class IdleProbe {
  not_needed,  // the C library, which is always there
  present,     // seen in the program
  absent,      // the loader ran and did not load it
  unknown      // neither the loader nor /proc told
};

// What was seen of the library during the first warm-up run.
struct Sighting {
  IdleProbe idle_probe = IdleProbe::unknown;
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
  std::string left_out;  // why it ran no further; empty: it took part to the end
};

struct Comparison {
  std::vector<std::string> program;
  std::vector<std::string> command;      // the whole command line
  std::vector<std::string> environment;  // NAME=value, the options of Talus that were there
  std::string date;                      // of the start: 2026-11-26T21:56:24Z
  std::string standard_input;            // a file
  int rounds = 0;
  int rounds_done = 0;  // rounds in which everybody ran
  int warm_up = 0;
  double timeout_s = 0;
  int stopped_by = 0;  // the signal that ended the comparison early
  size_t reference = 0;
  std::vector<Contender> contenders;
  std::vector<std::string> notes;  // about the program, known before the first run
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_SAMPLES_HPP
