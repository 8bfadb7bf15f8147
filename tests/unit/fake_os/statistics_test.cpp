// SPDX-License-Identifier: MIT
// tests/unit/fake_os/statistics: a process without memory can still be asked for its statistics.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "api/statistics.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr size_t map_row = static_cast<size_t>(os::FakeCall::map);

TEST(StatisticsWithoutMemory, AreThere) {
  test::own_cache();
  const uint64_t maps = os::fake_plan.calls[map_row].load_relaxed();
  os::fake_plan.refuse_from[map_row].store_relaxed(1);
  static void* blocks[100000];
  size_t count = 0;
  while (count < 100000) {
    void* block = allocate(30000);
    if (block == nullptr) break;
    blocks[count++] = block;
  }
  EXPECT_LT(count, 100000u);
  const int file = open("/dev/null", O_WRONLY);
  for (int format = 0; format < 4; format++) EXPECT_EQ(api::stats_print(file, format), 0);
  close(file);
  uint64_t live = 0, resident = 0;
  EXPECT_EQ(api::get_value("heap.live_bytes", &live), 0);
  EXPECT_GE(live, count * 30000);
  // Whether the kernel tells of pages is asked with a page, which cannot be had.
  EXPECT_EQ(api::get_value("resident.total_bytes", &resident), ENODATA);
  for (size_t i = 0; i < count; i++) free_block(blocks[i]);
  EXPECT_GT(os::fake_plan.calls[map_row].load_relaxed(), maps);
  os::fake_plan.refuse_from[map_row].store_relaxed(0);
  EXPECT_EQ(api::get_value("resident.total_bytes", &resident), 0);
}

}  // namespace
}  // namespace talus::core
