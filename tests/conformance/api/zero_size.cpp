// Requests for nothing, and null given back (N29).
//
// malloc(0) on glibc is a distinct block that can be freed, and programs rely on it. realloc(p, 0)
// may free p and give null (glibc) or give a smallest block (jemalloc): either way nothing leaks.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../probe.hpp"

#include <malloc.h>

namespace {

constexpr int rounds = 200000;

void check_distinct() {
  void* blocks[100];
  for (int i = 0; i < 100; ++i) {
    switch (i % 4) {
      case 0:
        blocks[i] = malloc(probe::opaque(std::size_t{0}));
        break;
      case 1:
        blocks[i] = calloc(0, 8);
        break;
      case 2:
        blocks[i] = calloc(8, 0);
        break;
      default:
        blocks[i] = realloc(nullptr, probe::opaque(std::size_t{0}));
        break;
    }
    PROBE_EXPECT(blocks[i] != nullptr, "request %d for nothing gives null", i % 4);
    for (int j = 0; j < i; ++j) {
      PROBE_EXPECT(blocks[i] != blocks[j], "two live requests for nothing share %p", blocks[i]);
    }
  }
  for (void* block : blocks) free(block);
}

void check_realloc_to_zero(std::size_t size) {
  const std::size_t before = probe::resident_bytes();
  for (int i = 0; i < rounds; ++i) {
    char* block = static_cast<char*>(probe::opaque(malloc(size)));
    block[0] = block[size - 1] = 1;
    void* nothing = realloc(block, probe::opaque(std::size_t{0}));
    if (nothing != nullptr) free(nothing);
  }
  const std::size_t grown = probe::saturating_difference(probe::resident_bytes(), before);
  PROBE_EXPECT(grown < 20 * probe::mib, "realloc(p, 0) of %zu bytes leaks: %zu KiB more", size,
               grown / 1024);
}

}  // namespace

int main() {
  check_distinct();
  check_realloc_to_zero(1000);
  check_realloc_to_zero(40000);
  free(nullptr);
  PROBE_EXPECT(malloc_usable_size(nullptr) == 0, "malloc_usable_size(NULL)");
  void* block = probe::opaque(realloc(nullptr, 100));
  PROBE_EXPECT(block != nullptr && malloc_usable_size(block) >= 100, "realloc(NULL, 100)");
  free(block);
  return probe::verdict();
}
