// SPDX-License-Identifier: MIT
// tests/unit/statistics/statistics: each name of the table has a value, what is no name has none,
// and asking and printing changes nothing.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/libc_extras.hpp"
#include "quiet.hpp"
#include "statistics_asked.hpp"

namespace talus::core {
namespace {

using test::printed;
using test::value_of;

std::string name_of(const StatisticRow& row, const char* key = nullptr) {
  std::string name = row.group.text();
  if (key != nullptr) name = name + "." + key;
  return name + "." + row.field.text();
}

TEST(Statistics, EachNameOfTheTableHasAValue) {
  test::own_cache();
  // Counting is not on yet: calls are not known, and the value stays what it was.
  uint64_t value = 77;
  EXPECT_EQ(api::get_value("calls.allocations", &value), ENODATA);
  EXPECT_EQ(value, 77u);
  start_counting();
  process_started_ns.store_relaxed(os::System::now_ns());
  const bool is_told = kernel_tells_pages();
  for (const StatisticRow& row : statistic_rows) {
    const bool is_page = std::string(row.group.text()) == "resident";
    const int expected = is_page && !is_told ? ENODATA : 0;
    EXPECT_EQ(api::get_value(name_of(row).c_str(), &value), expected) << name_of(row);
  }
  for (const SizeClass& size : size_class_table.rows) {
    for (const StatisticRow& row : class_statistic_rows) {
      value_of(name_of(row, std::to_string(size.block_bytes).c_str()));
    }
  }
  for (const StatisticRow& row : thread_statistic_rows) value_of(name_of(row, "0"));
  EXPECT_EQ(value_of("process.id"), static_cast<uint64_t>(getpid()));
}

TEST(Statistics, WhatIsNoNameHasNoValue) {
  uint64_t value = 77;
  for (const char* name : {"",
                           ".",
                           "heap",
                           "heap.",
                           "heap.live",
                           "heap.live_bytes ",
                           "heap.live_bytes.",
                           ".live_bytes",
                           "Heap.live_bytes",
                           "live_bytes",
                           "class.64",
                           "class.64.",
                           "class..live_blocks",
                           "class.63.live_blocks",
                           "class.064.live_blocks",
                           "class.0.live_blocks",
                           "class.x.slabs",
                           "class.64x.slabs",
                           "class.33792.slabs",
                           "class.99999999999999999999.slabs",
                           "class.live_blocks",
                           "class.64.list_bytes",
                           "thread.list_bytes",
                           "thread.100000.heap",
                           "thread.0.slabs",
                           "thread.-1.heap",
                           "thread..heap",
                           "instance.a.live_bytes"}) {
    EXPECT_EQ(api::get_value(name, &value), ENOENT) << name;
  }
  EXPECT_EQ(api::get_value(nullptr, &value), EINVAL);
  EXPECT_EQ(api::get_value("heap.live_bytes", nullptr), EINVAL);
  EXPECT_EQ(value, 77u);
}

TEST(Statistics, ValuesFollowTheHeap) {
  test::live_bytes();
  const uint64_t live = value_of("heap.live_bytes"), blocks = value_of("class.4096.live_blocks");
  const uint64_t large = value_of("heap.large_blocks");
  void* kept[100];
  for (void*& block : kept) block = allocate(4096);
  void* big = allocate(mib);
  EXPECT_EQ(value_of("heap.live_bytes"), live + 100 * 4096 + mib);
  EXPECT_EQ(value_of("class.4096.live_blocks"), blocks + 100);
  EXPECT_EQ(value_of("heap.large_blocks"), large + 1);
  for (void* block : kept) free_block(block);
  free_block(big);
  EXPECT_EQ(value_of("heap.live_bytes"), live);
  const uint64_t threads = value_of("heap.threads");
  test::on_threads(1, [&](size_t) {
    void* mine = allocate(32);
    EXPECT_EQ(value_of("heap.threads"), threads + 1);
    EXPECT_GT(value_of("thread.0.list_bytes"), 0u);
    free_block(mine);
  });
  EXPECT_EQ(value_of("heap.threads"), threads);
  const uint64_t faults = value_of("process.minor_faults");
  char* pages = static_cast<char*>(
      mmap(nullptr, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t at = 0; at < mib; at += 4096) pages[at] = 1;
  EXPECT_GT(value_of("process.minor_faults"), faults);
  munmap(pages, mib);
}

TEST(Statistics, CallsTellWhatWasAskedForAndRounding) {
  start_counting();
  const uint64_t requested = value_of("calls.requested_bytes");
  const uint64_t rounding = value_of("calls.rounding_bytes");
  void* blocks[50];
  for (void*& block : blocks) block = allocate(100);
  EXPECT_EQ(value_of("calls.requested_bytes"), requested + 50 * 100);
  EXPECT_EQ(value_of("calls.rounding_bytes"), rounding + 50 * (112 - 100));
  for (void* block : blocks) free_block(block);
}

TEST(Statistics, PrintingTakesNothingFromTheHeap) {
  test::live_bytes();
  start_counting();
  uint64_t calls[2], given[2], metadata[2];
  for (int i = 0; i < 2; i++) {
    calls[i] = value_of("calls.allocations");
    given[i] = value_of("space.given_bytes");
    metadata[i] = value_of("space.metadata_bytes");
    errno = 1234;
    const int file = open("/dev/null", O_WRONLY);
    for (int format = 0; format < 4; format++) EXPECT_EQ(api::stats_print(file, format), 0);
    EXPECT_EQ(errno, 1234);
    close(file);
  }
  EXPECT_EQ(calls[0], calls[1]);
  EXPECT_EQ(given[0], given[1]);
  EXPECT_EQ(metadata[0], metadata[1]);
}

TEST(Statistics, EachFormNamesEachKnownRow) {
  start_counting();
  const std::string text = printed(TALUS_STATS_TEXT), json = printed(TALUS_STATS_JSON);
  const std::string csv = printed(TALUS_STATS_CSV), metrics = printed(TALUS_STATS_OPENMETRICS);
  for (const StatisticRow& row : statistic_rows) {
    EXPECT_NE(text.find(row.label.text()), std::string::npos) << row.label;
    const std::string group = row.group.text(), field = row.field.text();
    EXPECT_NE(json.find("\"" + field + "\":"), std::string::npos) << field;
    EXPECT_NE(csv.find(name_of(row)), std::string::npos) << field;
    const std::string family = "# TYPE talus_" + group + "_" + field + " ";
    EXPECT_NE(metrics.find(family), std::string::npos) << family;
  }
}

TEST(Statistics, ErrorsOfPrintingAreTold) {
  EXPECT_EQ(api::stats_print(1, 4), EINVAL);
  EXPECT_EQ(api::stats_print(1, -1), EINVAL);
  EXPECT_EQ(api::stats_print(-1, TALUS_STATS_JSON), EBADF);
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(api::stats_print(full, TALUS_STATS_TEXT), ENOSPC);
  close(full);
}

// What each cause purged sums to all that was purged, and a call counts for its own cause.
TEST(Statistics, EachPurgeHasItsCause) {
  test::own_cache();
  const char* const causes[] = {"bound", "decay", "call", "command", "limit", "pressure"};
  const auto of = [](const std::string& cause, const char* what) {
    return value_of("purge." + cause + "_" + what);
  };
  const auto expect_sums = [&] {
    uint64_t bytes = 0, calls = 0;
    for (const char* cause : causes) {
      bytes += of(cause, "bytes");
      calls += of(cause, "calls");
    }
    EXPECT_EQ(bytes, value_of("space.purged_bytes"));
    EXPECT_EQ(calls, value_of("space.purges"));
  };
  // Touches and frees some memory; then purge() takes it.
  const auto expect_growth = [&](const std::string& grows, auto purge) {
    uint64_t before[6];
    for (int i = 0; i < 6; i++) before[i] = of(causes[i], "bytes");
    const uint64_t calls = of(grows, "calls");
    void* block = allocate(8 * mib);
    memset(block, 1, 8 * mib);
    free_block(block);
    purge();
    for (int i = 0; i < 6; i++) {
      if (grows != causes[i]) {
        EXPECT_EQ(of(causes[i], "bytes"), before[i]) << causes[i] << " for " << grows;
      } else {
        EXPECT_GE(of(causes[i], "bytes"), before[i] + 4 * mib) << grows;
        EXPECT_GT(of(grows, "calls"), calls) << grows;
      }
    }
    expect_sums();
  };
  purge_beyond(0);
  expect_growth("call", [] { purge_beyond(0); });
  expect_growth("call", [] { EXPECT_GE(purge_bytes(8 * mib), 8 * mib); });
  expect_growth("pressure", purge_under_pressure);
  expect_growth("limit", [] {
    api::set_limits(collect_totals().space.given_bytes + mib, 0);
    // Takes untouched memory. Talus purges free memory before that.
    void* larger = allocate(32 * mib);
    api::set_limits(0, 0);
    free_block(larger);
  });
  purge_beyond(0);
  DecayTally tally;
  expect_growth("decay", [&] {
    for (int turn = 0; turn < 40; turn++) purge_in_background(1, tally);
  });
  // Ends of walks leave no reason behind.
  expect_growth("call", [] { purge_beyond(0); });
}

// More walks than there are places: the rest counts for the bound, and the sum stays right.
TEST(PurgeCauses, CountsWithoutAPlace) {
  static PurgeCauses causes;
  {
    std::vector<std::unique_ptr<PurgeReason>> reasons;
    for (size_t i = 0; i <= PurgeCauses::walks_max; i++) {
      reasons.push_back(std::make_unique<PurgeReason>(causes, PurgeCause::call));
    }
    EXPECT_EQ(causes.begin(PurgeCause::call), nullptr);
    std::thread{[] { causes.note(3, 1); }}.join();
    causes.note(5, 2);
  }
  causes.note(7, 1);
  EXPECT_EQ(causes.bytes(PurgeCause::call), 5u);
  EXPECT_EQ(causes.calls(PurgeCause::call), 2u);
  EXPECT_EQ(causes.bytes(PurgeCause::bound), 10u);
  // A fork's child drops the walks of threads that it does not have.
  PurgeReason own{causes, PurgeCause::limit};
  PurgeCauses::Walk* lost = nullptr;
  std::thread{[&] { lost = causes.begin(PurgeCause::decay); }}.join();
  ASSERT_NE(lost, nullptr);
  causes.forget_others();
  EXPECT_EQ(lost->shared_thread.load_own(), 0u);
  causes.note(11, 1);
  EXPECT_EQ(causes.bytes(PurgeCause::limit), 11u);
}

// The calls of the C library are views of the same numbers.
TEST(Statistics, MallinfoAgrees) {
  test::live_bytes();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) blocks.push_back(allocate(i * 20));
  for (size_t i = 0; i < 3000; i += 3) free_block(blocks[i]);
  const struct mallinfo2 info = api::mallinfo2();
  EXPECT_EQ(info.uordblks, value_of("heap.live_small_bytes"));
  EXPECT_EQ(info.hblkhd, value_of("heap.live_large_bytes"));
  EXPECT_EQ(info.hblks, value_of("heap.large_blocks"));
  EXPECT_EQ(info.keepcost, value_of("space.retained_bytes"));
  EXPECT_EQ(info.arena, info.uordblks + info.fordblks);
  EXPECT_EQ(info.arena + info.hblkhd,
            value_of("heap.total_bytes") + value_of("space.retained_bytes"));
  char* text = nullptr;
  size_t bytes = 0;
  FILE* stream = open_memstream(&text, &bytes);
  EXPECT_EQ(api::malloc_info(0, stream), 0);
  fclose(stream);
  const std::string used = "\" size=\"" + std::to_string(info.uordblks) + "\"/>";
  EXPECT_NE(std::string(text).find(used), std::string::npos) << text;
  free(text);
  for (size_t i = 0; i < 3000; i++) {
    if (i % 3 != 0) free_block(blocks[i]);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
