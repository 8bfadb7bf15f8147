// A buffer that grows from 1 MiB to 512 MiB by 1 MiB, each step touched (N32).
//
// The floor is the same growth written with mmap and mremap, measured in the same process. An
// allocator that copies at each step moves 128 GiB. The bar is generous (12 times the floor, in
// processor time), the ratio is printed: 1 means that nothing is copied.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <sys/mman.h>

namespace {

constexpr std::size_t steps = 512;
constexpr double ratio_max = 12;

// Gives up early: an allocator a hundred times slower need not be waited for.
constexpr double patience_seconds = 15;

void touch(char* bytes, std::size_t step) {
  for (std::size_t i = (step - 1) * probe::mib; i < step * probe::mib; i += 4096) {
    bytes[i] = static_cast<char>(step);
  }
}

double grow_by_kernel() {
  const double start = probe::cpu_seconds();
  auto* bytes = static_cast<char*>(
      mmap(nullptr, probe::mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  touch(bytes, 1);
  for (std::size_t step = 2; step <= steps; ++step) {
    bytes = static_cast<char*>(
        mremap(bytes, (step - 1) * probe::mib, step * probe::mib, MREMAP_MAYMOVE));
    touch(bytes, step);
  }
  munmap(bytes, steps * probe::mib);
  return probe::cpu_seconds() - start;
}

double grow_by_allocator() {
  const double start = probe::cpu_seconds();
  char* bytes = nullptr;
  for (std::size_t step = 1; step <= steps; ++step) {
    bytes = static_cast<char*>(realloc(bytes, step * probe::mib));
    if (bytes == nullptr) {
      probe::fail("realloc to %zu MiB gives null", step);
      break;
    }
    touch(bytes, step);
    if (probe::cpu_seconds() - start > patience_seconds) {
      probe::fail("only %zu MiB after %.0f s", step, patience_seconds);
      break;
    }
    for (std::size_t i = 1; i <= step; i += 37) {
      PROBE_EXPECT(bytes[(i - 1) * probe::mib] == static_cast<char>(i), "MiB %zu was lost", i);
    }
  }
  free(bytes);
  return probe::cpu_seconds() - start;
}

}  // namespace

int main() {
  grow_by_kernel();
  const double floor = grow_by_kernel();
  const double seconds = grow_by_allocator();
  probe::figure("1 to 512 MiB", seconds, "s");
  probe::figure("kernel's floor", floor, "s");
  probe::figure("ratio", seconds / floor, "x");
  PROBE_EXPECT(seconds <= ratio_max * floor, "%.2f s, %.1f times the floor of %.2f s", seconds,
               seconds / floor, floor);
  return probe::verdict();
}
