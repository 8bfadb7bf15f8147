// Starts with descriptors 0 to 2 closed, and leaves no descriptor open (N19).
//
// An allocator that opens a file at start and keeps it gets descriptor 0, and the program's first
// output goes into it. In the child nothing may be open before or after heavy use, from the first
// instruction of main on. Since the child has no stderr it answers by its exit status.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <thread>

namespace {

constexpr int descriptors_max = 256;
constexpr int exit_open_at_start = 10;
constexpr int exit_open_after_use = 11;
constexpr int exit_out_of_memory = 12;

int open_count() {
  int count = 0;
  for (int i = 0; i < descriptors_max; ++i) count += fcntl(i, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

void allocate_a_lot(std::atomic<int>& failed) {
  probe::Random random(4);
  void* blocks[64] = {};
  for (int i = 0; i < 20000; ++i) {
    void*& block = blocks[random.below(64)];
    free(block);
    block = malloc(i % 100 == 0 ? random.between(1, 4000000) : random.between(1, 5000));
    if (block == nullptr) failed = 1;
  }
  for (void* block : blocks) free(block);
}

int live_without_descriptors() {
  if (open_count() != 0) return exit_open_at_start;
  std::atomic<int> failed{0};
  std::thread other([&] { allocate_a_lot(failed); });
  allocate_a_lot(failed);
  other.join();
  malloc_trim(0);
  if (failed != 0) return exit_out_of_memory;
  return open_count() == 0 ? 0 : exit_open_after_use;
}

bool close_all() {
  for (int i = 0; i < descriptors_max; ++i) close(i);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "closed")) return live_without_descriptors();
  const probe::Outcome outcome = probe::relaunch("closed", 10, close_all);
  PROBE_EXPECT(outcome.code != exit_open_at_start, "a descriptor is open when main begins");
  PROBE_EXPECT(outcome.code != exit_open_after_use, "a descriptor stays open after use");
  probe::expect_ok(outcome, "start with descriptors closed");
  return probe::verdict();
}
