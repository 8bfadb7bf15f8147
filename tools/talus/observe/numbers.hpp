// SPDX-License-Identifier: MIT
//
// Owns: the numbers of one look into a process. Their names are the rows of
// settings/statistics.hpp.
// Invariant: an unknown number is marked as such.
// Must not know: how numbers are found or printed.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_NUMBERS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_NUMBERS_HPP

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/heap_pieces.hpp"
#include "observe/rate_rows.hpp"
#include "settings/statistics.hpp"

namespace talus::tool {

struct ClassNumbers {
  uint64_t block_bytes = 0;
  // As the rows of class_statistic_rows: live, listed, remote, free blocks; slabs.
  std::array<uint64_t, core::class_statistic_count> values{};
};
struct ThreadNumbers {
  std::array<uint64_t, core::thread_statistic_count> values{};
};
struct InstanceNumbers {
  uint64_t number = 0;
  std::string name;
  std::array<uint64_t, core::instance_statistic_count> values{};
};

// One of the heaps that threads share. `free_bytes` counts free blocks in slabs.
struct HeapNumbers {
  uint64_t number = 0, threads = 0, slabs = 0, slab_bytes = 0, taken_bytes = 0, free_bytes = 0;
  uint64_t refills = 0;  // so far; wraps at 2 to the 32
};

struct Numbers {
  std::string object;                                       // the file that carries Talus
  std::string version;                                      // of Talus in the process
  std::vector<std::pair<std::string, std::string>> labels;  // of metrics; empty: the object's
  bool is_consistent = false;
  std::string why_not;  // consistent; one line
  bool is_damaged = false;
  std::array<std::optional<uint64_t>, core::statistic_count> values;
  std::vector<ClassNumbers> classes;          // only those with slabs
  std::map<uint64_t, uint64_t> begun_blocks;  // by their bytes: what two-sided lists gave
  std::vector<ThreadNumbers> threads;
  std::vector<InstanceNumbers> instances;
  std::vector<HeapNumbers> heaps;
  PieceNotes notes;  // with Detail::pieces
  Rates rates;       // since the look before, with a RateMeter

  std::optional<uint64_t>& operator[](core::StatisticId id) {
    return values[static_cast<size_t>(id)];
  }
  uint64_t get(core::StatisticId id) const { return values[static_cast<size_t>(id)].value_or(0); }
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_NUMBERS_HPP
