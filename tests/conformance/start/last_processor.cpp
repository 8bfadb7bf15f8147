// Bound to the last processor alone, from the start and in the middle of work (N26).
//
// Allocators that index tables by processor number, or size them by how many processors are
// allowed, write past the end when the one allowed processor has a high number. The child is bound
// before exec; the parent binds itself with threads running.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

int last_processor() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return -1;
  for (int i = CPU_SETSIZE - 1; i >= 0; --i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) return i;
  }
  return -1;
}

bool bind_to_last() {
  const int processor = last_processor();
  if (processor < 0) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

void allocate_a_lot(std::size_t seed) {
  probe::Random random(seed);
  void* blocks[100] = {};
  std::size_t sizes[100] = {};
  for (int i = 0; i < 20000; ++i) {
    const std::size_t at = random.below(100);
    if (blocks[at] != nullptr) {
      PROBE_EXPECT(probe::is_filled(blocks[at], sizes[at], at), "a block changed");
      free(blocks[at]);
    }
    sizes[at] = i % 200 == 0 ? random.between(1, 2000000) : random.between(1, 3000);
    blocks[at] = malloc(sizes[at]);
    probe::fill(blocks[at], sizes[at], at);
    if (i == 10000 && seed % 2 == 0) PROBE_EXPECT(bind_to_last(), "binding a thread");
  }
  for (void* block : blocks) free(block);
}

int work() {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) threads.emplace_back(allocate_a_lot, i);
  for (std::thread& thread : threads) thread.join();
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "bound")) return work();
  const probe::Outcome outcome = probe::relaunch("bound", 15, bind_to_last);
  if (outcome.code == probe::exit_not_started) probe::skip("processors cannot be chosen");
  probe::expect_ok(outcome, "bound to the last processor from the start");
  return work();
}
