// realloc and reallocarray keep the contents over random growth and shrinkage (N29).
//
// Many blocks are resized at random over four decades of size. So the path in place, the copy, the
// move of pages and the step from small to large blocks all occur next to live data.
// SPDX-License-Identifier: MIT
#include "../probe.hpp"
#include "../pattern.hpp"

#include <malloc.h>

namespace {

constexpr std::size_t crowd = 200;
constexpr int rounds = 60000;

struct Block {
  unsigned char* bytes;
  std::size_t size;
  std::size_t seed;
};

Block blocks[crowd];

std::size_t draw_size(probe::Random& random) {
  const std::size_t decade = random.below(100);
  if (decade < 60) return random.between(1, 512);
  if (decade < 85) return random.between(512, 16 * probe::kib);
  if (decade < 97) return random.between(16 * probe::kib, 300 * probe::kib);
  return random.between(300 * probe::kib, 3 * probe::mib);
}

// Sampled positions that depend on the offset alone, so that they survive a change of size.
template <typename Visit>
void visit_samples(std::size_t size, Visit visit) {
  for (std::size_t i = 0; i < size; i += i < 64 ? 1 : i / 16 + 1) visit(i);
}

void write_samples(Block& block) {
  visit_samples(block.size,
                [&](std::size_t i) { block.bytes[i] = probe::pattern_byte(block.seed, i); });
}

bool has_samples(const Block& block, std::size_t size) {
  bool is_same = true;
  visit_samples(size, [&](std::size_t i) {
    is_same &= block.bytes[i] == probe::pattern_byte(block.seed, i);
  });
  return is_same;
}

void resize(Block& block, std::size_t size, bool by_array) {
  void* moved = by_array ? reallocarray(block.bytes, 1, size) : realloc(block.bytes, size);
  if (moved == nullptr) {
    probe::fail("realloc from %zu to %zu gives null", block.size, size);
    return;
  }
  const std::size_t kept = block.size < size ? block.size : size;
  block.bytes = static_cast<unsigned char*>(moved);
  PROBE_EXPECT(has_samples(block, kept), "realloc from %zu to %zu lost bytes", block.size, size);
  PROBE_EXPECT(malloc_usable_size(moved) >= size, "realloc to %zu is short", size);
  block.size = size;
  write_samples(block);
}

}  // namespace

int main() {
  probe::Random random(7);
  for (std::size_t i = 0; i < crowd; ++i) {
    const std::size_t size = draw_size(random);
    blocks[i] = {static_cast<unsigned char*>(malloc(size)), size, i + 1};
    write_samples(blocks[i]);
  }
  for (int i = 0; i < rounds; ++i) {
    resize(blocks[random.below(crowd)], draw_size(random), i % 3 == 0);
  }
  for (const Block& block : blocks) {
    PROBE_EXPECT(has_samples(block, block.size), "a block of %zu bytes was spoilt", block.size);
    free(block.bytes);
  }
  // reallocarray multiplies.
  void* table = probe::opaque(reallocarray(nullptr, 1000, 48));
  PROBE_EXPECT(table != nullptr && malloc_usable_size(table) >= 48000, "reallocarray(1000, 48)");
  free(table);
  return probe::verdict();
}
