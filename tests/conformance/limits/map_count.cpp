// Freed holes do not become one mapping each: the kernel allows 65530 of them (N22).
//
// The probe takes blocks of 20 KiB, frees every second one and calls malloc_trim. A second of rest
// follows, for allocators that purge in the background. There are 60000 blocks, in full two
// millions with a million holes. Fewer than 1000 mappings may result, and the survivors must be
// intact. The probe touches one page of each freed block, and of every sixteenth block that stays.
// If the allocator makes more of them resident, there are as many blocks as fit into half of the
// free memory.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../probe.hpp"

#include <malloc.h>

namespace {

constexpr std::size_t short_count = 60000;
constexpr std::size_t full_count = 2000000;
constexpr std::size_t block_bytes = 20 * probe::kib;
constexpr std::size_t look_every = 20000;
constexpr std::size_t maps_max = 1000;

unsigned* blocks[full_count];

void expect_few_maps(const char* when) {
  const std::size_t maps = probe::map_count();
  PROBE_EXPECT(maps < maps_max, "%zu mappings %s", maps, when);
  probe::figure(when, static_cast<double>(maps), "maps");
}

bool is_touched(std::size_t i) { return i % 2 == 0 || i % 32 == 1; }

}  // namespace

int main() {
  std::size_t count = probe::form(short_count, full_count);
  const std::size_t resident_max = probe::available_bytes() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % look_every == 0 && probe::resident_bytes() > resident_max) count = i;
    blocks[i] = static_cast<unsigned*>(probe::opaque(malloc(block_bytes)));
    if (blocks[i] == nullptr) {
      probe::fail("block %zu of %zu is null", i, count);
      return probe::verdict();
    }
    if (is_touched(i)) *blocks[i] = static_cast<unsigned>(i);
  }
  probe::figure("holes", static_cast<double>(count / 2), "");
  expect_few_maps("full");
  for (std::size_t i = 0; i < count; i += 2) free(blocks[i]);
  malloc_trim(0);
  probe::sleep_ms(1000);
  expect_few_maps("with holes");
  for (std::size_t i = 1; i < count; i += 2) {
    PROBE_EXPECT(!is_touched(i) || *blocks[i] == i, "block %zu was lost", i);
    free(blocks[i]);
  }
  malloc_trim(0);
  expect_few_maps("empty");
  return probe::verdict();
}
