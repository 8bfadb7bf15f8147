// SPDX-License-Identifier: MIT
// fuzz/settings: what one run calls, and what it may expect; `name=value` on the command line.
//
// Owns: the one object with the settings, constant once main() has read them. run.py draws them,
// together with options of Talus in the environment, and prints both for each failure.
// Called on: the main thread to read them; any thread may look.
#ifndef TALUS_TESTS_FUZZ_SETTINGS_HPP
#define TALUS_TESTS_FUZZ_SETTINGS_HPP

#include <stddef.h>
#include <stdint.h>

namespace fuzz {

constexpr int place_count_max = 4096;
constexpr int worker_count_max = 9;
constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;

struct Settings {
  uint64_t seed = 1;
  uint64_t seconds = 20;
  uint64_t steps = 0;    // of a run without workers; 0: as many as the seconds allow
  uint64_t threads = 3;  // workers; 0: the main thread alone, and the seed decides everything
  uint64_t places = place_count_max;   // for blocks
  uint64_t live_mib = 96;              // above which more is freed than allocated
  const char* directory = "/dev/shm";  // of the files of heaps

  // Calls that are made unless they are switched off.
  uint64_t heaps = 1;
  uint64_t providers = 1;
  uint64_t files = 1;
  uint64_t bounded = 1;
  uint64_t containers = 1;
  uint64_t forks = 1;
  uint64_t options = 1;
  uint64_t trims = 1;
  uint64_t large = 1;
  // Calls that are made on request.
  uint64_t limits = 0;              // talus_set_limits and its handler
  uint64_t address_limit = 0;       // RLIMIT_AS goes up and down
  uint64_t descriptors = 0;         // of the library's are closed, and there are few
  uint64_t file_size = 0;           // RLIMIT_FSIZE goes up and down
  uint64_t locked_memory = 0;       // mlock of blocks
  uint64_t huge = 0;                // now and then a block of hundreds of MiB
  uint64_t spawns = 0;              // posix_spawn
  uint64_t child_threads = 0;       // children start threads
  uint64_t refusals = 0;            // of 1024 system calls of the library, at most
  uint64_t refused_calls = 0xffff;  // which: a bit each (refusals.cpp)

  // What may be expected.
  uint64_t may_fail = 0;    // any allocation, since memory is short
  uint64_t mapped = 0;      // TALUS_MODE is mapped or mapped-underrun
  uint64_t hardened = 0;    // TALUS_MODE is hardened
  uint64_t guarded = 0;     // TALUS_GUARD is set
  uint64_t resident = 1;    // memory goes back at the end
  uint64_t backtraces = 0;  // of all threads by gdb, after a failure
};

extern Settings settings;

// False: the command line is not understood; the names were printed.
bool read_settings(int count, char** words);

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_SETTINGS_HPP
