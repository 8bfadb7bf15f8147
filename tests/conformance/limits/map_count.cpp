// Freed holes do not become one mapping each: the kernel allows 65530 of them (N22).
//
// 60000 blocks of 20 KiB, every second freed and the memory asked back with malloc_trim, then a
// second of rest for allocators that purge in the background. Fewer than 1000 mappings may result,
// and the survivors must be intact. Only one page of each block is touched.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../probe.hpp"

#include <malloc.h>

namespace {

constexpr std::size_t count = 60000;
constexpr std::size_t block_bytes = 20 * probe::kib;
constexpr std::size_t maps_max = 1000;

unsigned* blocks[count];

void expect_few_maps(const char* when) {
  const std::size_t maps = probe::map_count();
  PROBE_EXPECT(maps < maps_max, "%zu mappings %s", maps, when);
  probe::figure(when, static_cast<double>(maps), "maps");
}

}  // namespace

int main() {
  for (unsigned i = 0; i < count; ++i) {
    blocks[i] = static_cast<unsigned*>(probe::opaque(malloc(block_bytes)));
    *blocks[i] = i;
  }
  expect_few_maps("full");
  for (std::size_t i = 0; i < count; i += 2) free(blocks[i]);
  malloc_trim(0);
  probe::sleep_ms(1000);
  expect_few_maps("with holes");
  for (unsigned i = 1; i < count; i += 2) {
    PROBE_EXPECT(*blocks[i] == i, "block %u was lost", i);
    free(blocks[i]);
  }
  malloc_trim(0);
  expect_few_maps("empty");
  return probe::verdict();
}
