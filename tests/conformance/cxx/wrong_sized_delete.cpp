// A sized delete with the wrong size must not corrupt the heap (N28).
//
// 40 bytes allocated and 80 passed, the reverse, and new[] freed by delete: undefined in the
// language, common in programs that delete through a base class. An allocator that believes the
// size files the block under another class and later hands out overlapping blocks. Reporting it
// and going on is welcome; stopping the process is not harmless and fails here.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <new>

namespace {

constexpr std::size_t crowd = 4000;

struct Case {
  std::size_t allocated;
  std::size_t passed;
};

const Case cases[] = {{40, 80},   {80, 40},      {16, 1000},    {1000, 16}, {24, 8000},
                      {5000, 24}, {100, 300000}, {300000, 100}, {40, 0}};

void* blocks[2 * crowd];

std::size_t size_of(const Case& shape, std::size_t i) {
  return i % 2 == 0 ? shape.allocated : (shape.passed != 0 ? shape.passed : 64);
}

// Takes twice as many blocks as were freed, of both sizes, and looks for overlap.
void expect_no_overlap(const Case& shape, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = size_of(shape, i);
    blocks[i] = probe::opaque(malloc(size));
    probe::fill(blocks[i], size, i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = size_of(shape, i);
    PROBE_EXPECT(malloc_usable_size(blocks[i]) >= size, "a block of %zu is short after (%zu, %zu)",
                 size, shape.allocated, shape.passed);
    PROBE_EXPECT(probe::is_filled(blocks[i], size, i), "overlap after delete(%zu, %zu)",
                 shape.allocated, shape.passed);
  }
  for (std::size_t i = 0; i < count; ++i) free(blocks[i]);
}

}  // namespace

int main() {
  for (const Case& shape : cases) {
    const bool is_large = shape.allocated > 100000 || shape.passed > 100000;
    const std::size_t count = is_large ? 50 : crowd;
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        blocks[i] = probe::opaque(i % 2 == 0 ? ::operator new(shape.allocated)
                                             : ::operator new[](shape.allocated));
      }
      for (std::size_t i = 0; i < count; ++i) {
        ::operator delete(probe::opaque(blocks[i]), probe::opaque(shape.passed));
      }
      expect_no_overlap(shape, 2 * count);
    }
  }
  return probe::verdict();
}
