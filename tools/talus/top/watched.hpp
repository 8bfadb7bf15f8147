// SPDX-License-Identifier: MIT
//
// Owns: the processes on Talus that this user may read, look after look, and what changed between
// two looks.
// Invariant: a process is known by its id and its start, so a new one of the same id is new.
// Must not know: how rows are shown.

#ifndef TALUS_TOOLS_TALUS_TOP_WATCHED_HPP
#define TALUS_TOOLS_TALUS_TOP_WATCHED_HPP

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/observe.hpp"

namespace talus::tool {

struct WatchedRow {
  int pid = 0;
  std::string name, user;
  uint64_t rss = 0, live = 0, free = 0;
  // A second, between the last two looks. Bytes where calls are counted, else refills of lists.
  std::optional<double> allocated_bytes, refills, faults;
  std::deque<uint64_t> history;  // of rss, the newest last
  std::vector<Numbers> numbers;  // one for each Talus in it
};

class Watched {
 public:
  // Looks at all processes. Those that ended are gone.
  void look();
  const std::vector<WatchedRow>& rows() const { return rows_; }
  // Processes that the kernel does not let this user read.
  size_t refused_count() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    uint64_t start = 0;           // in ticks of the kernel
    Clock::time_point look_next;  // without Talus: not before
    bool is_refused = false, is_seen = false;
    uint64_t allocated = 0, refills = 0, faults = 0;  // of the last look
    bool is_counted = false, has_look = false;
    Clock::time_point looked;
    std::deque<uint64_t> history;
  };
  void look_at(int pid, Known& known);

  std::map<int, Known> known_;
  std::vector<WatchedRow> rows_;
  size_t refused_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_WATCHED_HPP
