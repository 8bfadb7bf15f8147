// SPDX-License-Identifier: MIT
//
// Owns: the proof that a preloaded library was in the program. There are two sources, used in the
// first warm-up run only. The C library's loader writes a record of the files it loads into each
// program (LD_DEBUG=files), however short its life. Looks at /proc cover programs without such a
// loader: static programs, other C libraries, cleared environments. The benchmarks preload a
// witness of their own (bench/witness.c) into every run. The command must not: its runs should be
// as users make them.
// Invariant: measured runs are left alone. Nothing is traced, so privileges and signals of the
// program stay as they are.
// Must not know: the cost of runs.

#ifndef TALUS_TOOLS_TALUS_COMPARE_WITNESS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_WITNESS_HPP

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "samples.hpp"

namespace talus::tool {

class Witness {
 public:
  explicit Witness(const Allocator& allocator);
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness();

  // The variables that the run's environment needs, NAME=value. Empty if there is no place for the
  // record.
  std::vector<std::string> variables() const;

  void watch(pid_t program);

  // The observations, after the run has ended.
  Sighting testify() const;

 private:
  struct Watched {
    int times = 0;
    int times_settled =
        0;  // looks that saw the C library, which the loader maps after preloaded libraries
    bool has_library = false;
    std::string obstacle;  // why it cannot be preloaded
  };
  void watch_process(pid_t process);
  void read_record(const std::string& path, Sighting& sighting) const;
  bool is_library(const std::string& name) const;

  std::string library_;       // constant; empty: the C library
  std::string library_file_;  // constant; without symbolic links, as in process maps
  std::string own_program_;   // constant; a child runs it before it executes the program
  std::string folder_;        // constant; empty: it could not be made
  std::map<std::pair<pid_t, std::string>, Watched> watched_;  // by process and program file
  double started_s_;                                          // constant
  double next_watch_s_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_WITNESS_HPP
