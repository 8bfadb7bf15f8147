// SPDX-License-Identifier: MIT
// tests/unit/reclaim/bursts: what bursts need again stays, in ranges and slabs, and leaves when no
// more bursts come. The test makes the passes and moves the clock (own_os), so neither a helper nor
// the speed of the machine has a part in it.
#include <gtest/gtest.h>

#include <vector>

#include "reclaim/decay.hpp"
#include "quiet.hpp"
#include "space_counts.hpp"

namespace talus::core {
namespace {

// Free in slabs, with pages, as the heaps count it; and free ranges.
size_t free_with_pages() {
  size_t bytes = 0;
  for_each_heap([&](Heap& heap) {
    Held held{lock_of(heap)};
    bytes += free_resident_bytes(heap);
  });
  Held held{space.lock()};
  return bytes + space.dirty_bytes();
}

size_t kept_for_bursts() {
  Held held{space.lock()};
  return space.burst_bytes();
}

constexpr uint64_t pass_ms = 12;
void decay_for(uint64_t ms) {
  for (uint64_t passed_ms = 0; passed_ms < ms; passed_ms += pass_ms) {
    decay_pass();
    test::machine.pass_ms(pass_ms);
  }
}

void take_and_give(size_t count, size_t bytes) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = allocate(bytes);
    for (size_t at = 0; at < bytes; at += 1024) static_cast<char*>(block)[at] = 1;
  }
  for (void* const block : blocks) free_block(block);
}

class BurstsStayTest : public testing::Test {
 protected:
  BurstsStayTest() : before_{options} {
    options.helper = false;
    options.decay_ms = burst_decay_ms_min;
  }
  ~BurstsStayTest() override {
    purge_request.is_served.store_relaxed(false);
    purge_request.is_much.store_relaxed(false);
    options = before_;
  }
  Options before_;
};

TEST_F(BurstsStayTest, UntilNoneComes) {
  constexpr uint64_t interval_ms = burst_interval_ms_min + 300;
  options.retain_bytes = 64 * mib;
  size_t purged = 0;
  for (int i = 0; i < 3; i++) {
    take_and_give(192, 128 * kib);
    take_and_give(12000, 2000);
    purged = test::purged_bytes();
    decay_for(interval_ms);
    if (i < 2) {
      EXPECT_LT(free_with_pages(), 4 * mib) << i;
      EXPECT_EQ(kept_for_bursts(), 0u) << i;
    }
  }
  EXPECT_GT(free_with_pages(), 20 * mib);
  EXPECT_LT(test::purged_bytes() - purged, 4 * mib);
  EXPECT_GT(kept_for_bursts(), 20 * mib);
  EXPECT_LE(kept_for_bursts(), free_with_pages() + mib);
  decay_for(bursts_missed_max * interval_ms);
  EXPECT_LT(free_with_pages(), 4 * mib);
  EXPECT_EQ(kept_for_bursts(), 0u);
}

// With little memory to retain, or for a short time, there is no such memory at all.
TEST_F(BurstsStayTest, NotWhereOptionsForbidIt) {
  options.retain_bytes = burst_bytes_min - 1;
  for (int i = 0; i < 4; i++) {
    if (i == 3) {
      options.retain_bytes = 64 * mib;
      options.decay_ms = burst_decay_ms_min - 1;
    }
    take_and_give(192, 128 * kib);
    decay_for(burst_interval_ms_min + 50);
    EXPECT_LT(free_with_pages(), 4 * mib) << i;
  }
}

}  // namespace
}  // namespace talus::core
