// SPDX-License-Identifier: MIT
// tests/death/hardened_limits: the limits on memory hold in the hardened mode, whose blocks above
// 256 KiB have pages of their own.
//
// Owns: nothing.
#include <string.h>
#include <unistd.h>

#include <vector>

#include "hardened_mode.hpp"
#include "api/extended.hpp"

namespace talus::core {
namespace {

using namespace test;

constexpr size_t most = 64 * mib;

size_t limited_bytes() {
  Held held{space.lock()};
  return space.ledger(held).limited_bytes();
}

// Blocks of this size until one is refused, or is an ordinary one that a cache kept.
std::vector<char*> all_that_fit(size_t bytes) {
  std::vector<char*> blocks;
  while (char* block = static_cast<char*>(api::malloc(bytes))) {
    if (!is_special(page_map.word_of(reinterpret_cast<uintptr_t>(block)))) break;
    memset(block, 1, bytes);
    blocks.push_back(block);
  }
  return blocks;
}

TEST(HardenedLimits, TheHardLimitCountsLargeBlocks) {
  EXPECT_HARD_PASS({
    limits.hard_bytes.store_relaxed(most);
    const size_t others = limited_bytes();
    for (const size_t bytes : {300 * kib, 5 * mib, 300 * kib}) {  // what is freed counts no more
      std::vector<char*> blocks = all_that_fit(bytes);
      if (blocks.size() * bytes > most) _exit(1);
      if (blocks.size() * (bytes + 8 * kib) < most - others - 2 * bytes) _exit(2);
      if (limited_bytes() > most) _exit(3);
      for (char* block : blocks) api::free(block);
      if (limited_bytes() > others + mib) _exit(4);
    }
  });
}
TEST(HardenedLimits, AResizeIsNoWayAroundTheHardLimit) {
  EXPECT_HARD_PASS({
    limits.hard_bytes.store_relaxed(most);
    char* block = static_cast<char*>(api::malloc(mib));
    size_t bytes = mib;
    while (char* grown = static_cast<char*>(api::realloc(block, bytes + mib))) {
      block = grown;
      memset(block + bytes, 1, mib);
      bytes += mib;
      if (bytes > most) _exit(1);
    }
    if (bytes < most / 4) _exit(2);
    const size_t full = limited_bytes();
    if (full < bytes || full > most) _exit(3);
    if (api::realloc(block, 2 * mib) != block) _exit(4);
    if (limited_bytes() > full - bytes + 2 * mib) _exit(5);
  });
}
TEST(HardenedLimits, ALargeBlockPurgesWhatIsFreeAboveTheSoftLimit) {
  EXPECT_HARD_PASS({
    options.retain_bytes = 1024 * mib;
    std::vector<char*> blocks;
    for (size_t bytes = 0; bytes < most; bytes += 8 * kib) {
      blocks.push_back(static_cast<char*>(memset(api::malloc(8 * kib), 1, 8 * kib)));
    }
    options.keep_classes = false;  // slabs that end are free ranges, with their pages
    for (char* block : blocks) api::free(block);
    flush_lists(own_cache());
    return_unused(*own_cache().heap);
    limits.soft_bytes.store_relaxed(most);
    const size_t before = space.dirty_bytes();
    if (before < most / 2) _exit(1);
    char* large = static_cast<char*>(api::malloc(most / 4 * 3));
    if (large == nullptr) _exit(2);
    if (limited_bytes() + space.dirty_bytes() > most) _exit(3);
    api::free(large);
    if (limited_bytes() > most / 4) _exit(4);
  });
}

}  // namespace
}  // namespace talus::core
