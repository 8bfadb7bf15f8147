// Alignment: every aligned entry point, 8 bytes to 4 MiB, over seven sizes (N29).
//
// Two blocks of each kind live at once and are checked after all were written, so that a block
// which is aligned but too short shows up as overlap. Plain malloc must be aligned for any object
// that fits the block: 16 from 16 bytes on, the size's own power of two below.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cstdint>
#include <malloc.h>

namespace {

constexpr std::size_t alignment_max = 4 * probe::mib;
const std::size_t sizes[] = {1, 24, 100, 4096, 65537, 1 * probe::mib, 5 * probe::mib};

struct Block {
  const char* call;
  void* address;
};

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

void* take_posix(std::size_t alignment, std::size_t size) {
  void* block = nullptr;
  const int error = posix_memalign(&block, alignment, size);
  PROBE_EXPECT(error == 0, "posix_memalign(%zu, %zu) returns %d", alignment, size, error);
  return error == 0 ? block : nullptr;
}

void check_pair(std::size_t alignment, std::size_t size) {
  Block blocks[6];
  for (int i = 0; i < 6; i += 3) {
    blocks[i] = {"posix_memalign", take_posix(alignment, size)};
    blocks[i + 1] = {"aligned_alloc", aligned_alloc(alignment, size)};
    blocks[i + 2] = {"memalign", memalign(alignment, size)};
  }
  std::size_t seed = 1;
  for (const Block& block : blocks) {
    PROBE_EXPECT(block.address != nullptr, "%s(%zu, %zu)", block.call, alignment, size);
    if (block.address == nullptr) continue;
    PROBE_EXPECT(is_aligned(block.address, alignment), "%s(%zu, %zu) gives %p", block.call,
                 alignment, size, block.address);
    PROBE_EXPECT(malloc_usable_size(block.address) >= size, "%s(%zu, %zu) is short", block.call,
                 alignment, size);
    probe::fill(block.address, size, seed++);
  }
  seed = 1;
  for (const Block& block : blocks) {
    if (block.address == nullptr) continue;
    PROBE_EXPECT(probe::is_filled(block.address, size, seed++), "%s(%zu, %zu) overlaps", block.call,
                 alignment, size);
    free(block.address);
  }
}

void check_natural_alignment() {
  for (std::size_t size = 1; size <= 8192; ++size) {
    std::size_t wanted = 16;
    while (wanted > size) wanted /= 2;
    void* first = probe::opaque(malloc(size));
    void* second = probe::opaque(calloc(1, size));
    PROBE_EXPECT(is_aligned(first, wanted), "malloc(%zu) gives %p", size, first);
    PROBE_EXPECT(is_aligned(second, wanted), "calloc(1, %zu) gives %p", size, second);
    void* grown = realloc(first, size + 4096);
    PROBE_EXPECT(is_aligned(grown, 16), "realloc(%zu) gives %p", size + 4096, grown);
    free(grown);
    free(second);
  }
}

// realloc need not keep a strict alignment, but it must keep the contents and free the old block.
void check_realloc_of_aligned() {
  for (std::size_t alignment = 32; alignment <= alignment_max; alignment *= 4) {
    void* block = aligned_alloc(alignment, 5000);
    if (block == nullptr) continue;
    probe::fill(block, 5000, alignment);
    void* grown = realloc(block, 300000);
    // The pattern's tail depends on the length, so compare the shared head byte for byte.
    bool is_kept = grown != nullptr;
    for (std::size_t i = 0; is_kept && i < probe::pattern_end_bytes; ++i) {
      is_kept = static_cast<unsigned char*>(grown)[i] == probe::pattern_byte(alignment, i);
    }
    PROBE_EXPECT(is_kept, "realloc of a block aligned to %zu", alignment);
    free(grown);
  }
}

}  // namespace

int main() {
  for (std::size_t alignment = 8; alignment <= alignment_max; alignment *= 2) {
    for (const std::size_t size : sizes) check_pair(alignment, size);
  }
  check_natural_alignment();
  check_realloc_of_aligned();
  return probe::verdict();
}
