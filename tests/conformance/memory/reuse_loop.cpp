// Memory in use stays (N03): a loop over 64 MiB takes less than a page fault for each 64 KiB.
//
// Take, touch, free, again and again: as one block, as 64 blocks of 1 MiB and as 8192 blocks of
// 8 KiB. An allocator that gives memory back at each free pays for it in faults and in system time
// at each turn. After a warm-up the faults of the whole process count, helpers too, and its system
// time may be 20 % of its processor time. Each form runs 1.5 s, in full 1000 turns and 10 s.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../retention.hpp"

#include <sys/resource.h>

namespace {

constexpr std::size_t total_bytes = 64 * probe::mib;
constexpr std::size_t smallest = 8 * probe::kib;
constexpr std::size_t bytes_a_fault_min = 64 * probe::kib;
constexpr double system_percent_max = 20;
constexpr int warm_up_turns = 10;

char* blocks[total_bytes / smallest];

struct Usage {
  double user = 0;
  double system = 0;
  long faults = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Usage usage() {
  rusage all{};
  getrusage(RUSAGE_SELF, &all);
  return {seconds(all.ru_utime), seconds(all.ru_stime), all.ru_minflt};
}

void turn(std::size_t block_bytes, std::size_t page_bytes) {
  const std::size_t count = total_bytes / block_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = static_cast<char*>(probe::opaque(malloc(block_bytes)));
    if (blocks[i] == nullptr) {
      probe::fail("malloc(%zu) gives null", block_bytes);
      _exit(1);
    }
    for (std::size_t at = 0; at < block_bytes; at += page_bytes) blocks[i][at] = 1;
  }
  for (std::size_t i = 0; i < count; ++i) free(probe::opaque(blocks[i]));
}

void run(const char* name, std::size_t block_bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t turns_min = probe::form(1, 1000);
  const double seconds_min = probe::seconds_asked(1.5, 10);
  for (int i = 0; i < warm_up_turns; ++i) turn(block_bytes, page_bytes);
  const Usage before = usage();
  const double start = probe::now_seconds();
  const double give_up = start + 6 * seconds_min;
  std::size_t turns = 0;
  while (turns < turns_min || probe::now_seconds() - start < seconds_min) {
    turn(block_bytes, page_bytes);
    ++turns;
    if (probe::now_seconds() > give_up) break;
  }
  const Usage after = usage();
  const double user = after.user - before.user;
  const double system = after.system - before.system;
  const double share = user + system > 0 ? 100 * system / (user + system) : 0;
  const double touched = static_cast<double>(turns) * static_cast<double>(total_bytes);
  const double faults =
      static_cast<double>(after.faults - before.faults) / (touched / bytes_a_fault_min);
  PROBE_EXPECT(faults < 1, "%s: %.2f faults for each 64 KiB touched", name, faults);
  PROBE_EXPECT(share < system_percent_max, "%s: %.0f %% of the time is the system's", name, share);
  char figure[60];
  std::snprintf(figure, sizeof(figure), "%s, faults", name);
  probe::figure(figure, faults, "a 64 KiB");
  std::snprintf(figure, sizeof(figure), "%s, system time", name);
  probe::figure(figure, share, "%");
  std::snprintf(figure, sizeof(figure), "%s, turns", name);
  probe::figure(figure, static_cast<double>(turns), "");
}

}  // namespace

int main() {
  // The table's own pages are not the allocator's.
  for (char*& block : blocks) block = reinterpret_cast<char*>(blocks);
  run("one block", total_bytes);
  run("1 MiB blocks", probe::mib);
  run("8 KiB blocks", smallest);
  return probe::verdict();
}
