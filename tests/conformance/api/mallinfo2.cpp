// mallinfo2 tells the truth: 64 MiB more and 64 MiB less show in it (N29, F17).
//
// An allocator that leaves the call to the libc reports the libc's empty heap, and a monitor then
// shows nothing while the process grows. "In use" is uordblks plus hblkhd: small and mapped blocks.
// Both shapes are tried, since either counter alone may be what moves.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>

namespace {

constexpr std::size_t wanted = 64 * probe::mib;
// Counters may be rounded to blocks, pages or spans, and may lag by what a thread holds in reserve.
constexpr std::size_t tolerance = wanted / 4;

// mallinfo2 leaves mapped blocks out of uordblks in glibc, others put everything into uordblks.
std::size_t in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void expect_moved(const char* what, std::size_t low, std::size_t high) {
  const std::size_t moved = probe::saturating_difference(high, low);
  PROBE_EXPECT(moved + tolerance >= wanted && moved <= wanted + tolerance,
               "%s moved mallinfo2 by %zu KiB, not 65536", what, moved / 1024);
}

void check(const char* what, std::size_t size) {
  const std::size_t count = wanted / size;
  void** blocks = static_cast<void**>(malloc(count * sizeof(void*)));
  const std::size_t before = in_use();
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = probe::opaque(malloc(size));
    probe::fill(blocks[i], size, i);
  }
  const std::size_t full = in_use();
  expect_moved(what, before, full);
  for (std::size_t i = 0; i < count; ++i) free(blocks[i]);
  expect_moved("freeing", in_use(), full);
  free(blocks);
}

}  // namespace

int main() {
  check("64 MiB of 1 KiB blocks", 1024);
  check("64 MiB of 64 KiB blocks", 64 * probe::kib);
  check("one block of 64 MiB", wanted);
  return probe::verdict();
}
