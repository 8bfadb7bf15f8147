// calloc gives zeros also from memory that was used before (N29).
//
// Each size class is written, freed and requested again, from the same thread and from another. An
// allocator may believe in zero pages by page, by span or by owner.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cstring>
#include <malloc.h>
#include <thread>

namespace {

void dirty(std::size_t size, std::size_t count) {
  void* blocks[64];
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = probe::opaque(malloc(size));
    if (blocks[i] != nullptr) std::memset(blocks[i], 0xa5, malloc_usable_size(blocks[i]));
  }
  for (std::size_t i = 0; i < count; ++i) free(blocks[i]);
}

void expect_zeroed(std::size_t size, std::size_t count, const char* where) {
  void* blocks[64];
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = probe::opaque(calloc(i % 2 != 0 ? 1 : size, i % 2 != 0 ? size : 1));
    PROBE_EXPECT(blocks[i] != nullptr && probe::is_zero(blocks[i], size),
                 "calloc of %zu bytes is dirty (%s)", size, where);
    if (blocks[i] != nullptr) std::memset(blocks[i], 0x5a, size);
  }
  for (std::size_t i = 0; i < count; ++i) free(blocks[i]);
}

}  // namespace

int main() {
  for (std::size_t size = 1; size <= 8 * probe::mib; size += size / 5 + 1) {
    const std::size_t count = size <= 32 * probe::kib ? 64 : 4;
    dirty(size, count);
    expect_zeroed(size, count, "recycled");
    expect_zeroed(size, count, "recycled twice");
  }
  for (const std::size_t size : {std::size_t{24}, std::size_t{700}, 20 * probe::kib, probe::mib}) {
    std::thread([&] { dirty(size, 16); }).join();
    expect_zeroed(size, 16, "of an ended thread");
    dirty(size, 16);
    std::thread([&] { expect_zeroed(size, 16, "in a new thread"); }).join();
  }
  // Grown in place: the block's new half belonged to another block.
  dirty(3 * probe::mib, 2);
  void* block = probe::opaque(calloc(1, probe::mib));
  PROBE_EXPECT(block != nullptr && probe::is_zero(block, probe::mib), "calloc in a larger hole");
  free(block);
  return probe::verdict();
}
