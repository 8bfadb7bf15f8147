// SPDX-License-Identifier: MIT
//
// Owns: the proof that a preloaded library was in the program. Two ask, during the first warm-up
// run only: the C library's loader writes down what it loads into each program it starts, however
// short its life (LD_DEBUG=files into a folder of ours); and /proc is looked at while the program
// runs, for what has no such loader: static programs, other C libraries, cleared environments.
// Invariant: measured runs are left alone. Nothing is traced, so privileges and signals of the
// program are what they always are.
// Must not know: what runs cost.

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

  // What the run's environment needs, NAME=value; empty if there is no place for the record.
  std::vector<std::string> variables() const;

  void watch(pid_t program);

  // What was seen, once the run has ended.
  Sighting testify() const;

 private:
  struct Watched {
    int times = 0;
    int times_settled = 0;  // the C library was there, which the loader maps after preloaded ones
    bool has_library = false;
    std::string obstacle;  // why nothing can be preloaded into it
  };
  void watch_process(pid_t process);
  void read_record(const std::string& path, Sighting& sighting) const;
  bool is_library(const std::string& name) const;

  std::string library_;       // constant; empty: the C library
  std::string library_file_;  // constant; the same without symbolic links, as in process maps
  std::string own_program_;   // constant; what a child is before it becomes the program
  std::string folder_;        // constant; empty: could not be made
  std::map<std::pair<pid_t, std::string>, Watched> watched_;  // by process and program file
  double started_s_;                                          // constant
  double next_watch_s_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_WITNESS_HPP
