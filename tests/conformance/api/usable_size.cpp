// malloc_usable_size: never below the request, all of it the caller's to write (N29).
//
// Blocks are filled to their usable size and looked at again after all others were filled, so a
// size that reaches into a neighbour or into bookkeeping is found.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cstring>
#include <malloc.h>

namespace {

constexpr std::size_t count_max = 3000;

struct Block {
  unsigned char* address;
  std::size_t usable;
};

Block blocks[count_max];

bool is_all(const unsigned char* bytes, std::size_t size, unsigned char value) {
  return bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

void check(std::size_t low, std::size_t high, std::size_t count) {
  probe::Random random(low + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = random.between(low, high);
    auto* address = static_cast<unsigned char*>(
        probe::opaque(i % 8 == 0 ? aligned_alloc(256, size) : malloc(size)));
    if (address == nullptr) {
      probe::fail("no block of %zu bytes", size);
      blocks[i] = {nullptr, 0};
      continue;
    }
    const std::size_t usable = malloc_usable_size(address);
    PROBE_EXPECT(usable >= size, "%zu usable of %zu", usable, size);
    blocks[i] = {address, usable};
    std::memset(address, static_cast<int>(i % 251), usable);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Block& block = blocks[i];
    if (block.address == nullptr) continue;
    PROBE_EXPECT(block.usable == malloc_usable_size(block.address), "the usable size changed");
    PROBE_EXPECT(is_all(block.address, block.usable, static_cast<unsigned char>(i % 251)),
                 "a block of %zu usable bytes was overwritten", block.usable);
    free(block.address);
  }
}

}  // namespace

int main() {
  check(1, 256, count_max);
  check(257, 8 * probe::kib, count_max);
  check(8 * probe::kib, 128 * probe::kib, 400);
  check(128 * probe::kib, 8 * probe::mib, 24);
  return probe::verdict();
}
