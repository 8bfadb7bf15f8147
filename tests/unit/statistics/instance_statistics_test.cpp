// SPDX-License-Identifier: MIT
// tests/unit/statistics/instance_statistics: what statistics say of heaps that a program made, by
// number and by name, and that they and the totals agree.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "api/heaps.hpp"
#include "api/libc_extras.hpp"
#include "quiet.hpp"
#include "statistics_asked.hpp"

namespace talus::core {
namespace {

using test::has_value;
using test::printed;
using test::value_of;

constexpr size_t limit_bytes = size_t{1} << 30;

// Of an instance, by its number or name.
uint64_t value_of(const std::string& key, const char* field) {
  return value_of("instance." + key + "." + field);
}
bool has_value(const std::string& key, const char* field) {
  return has_value("instance." + key + "." + field);
}

std::string info_of_malloc() {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* stream = open_memstream(&text, &bytes);
  EXPECT_EQ(api::malloc_info(0, stream), 0);
  fclose(stream);
  const std::string info = text;
  free(text);
  return info;
}

talus_heap* heap_named(const char* name, size_t most = 0) {
  talus_heap_options requests{};
  requests.name = name;
  requests.limit_bytes = most;
  return api::heap_new(&requests);
}

std::string number_of(talus_heap* heap) {
  return std::to_string(index_of(id_in_handle(api::handle_in(heap))) - heap_count_max);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

TEST(InstanceStatistics, AreFoundByNumberAndByName) {
  EXPECT_EQ(value_of("heap.instances"), 0u);
  talus_heap* first = heap_named("requests", mib);
  talus_heap* second = heap_named("a.b..c");
  talus_heap* same = heap_named("requests", mib);
  if (std::stoul(number_of(same)) < std::stoul(number_of(first))) std::swap(first, same);
  talus_heap* unnamed = heap_named(nullptr);
  talus_heap* digits = heap_named(number_of(second).c_str());
  talus_heap* long_name = heap_named("0123456789012345678901234567890123456789");
  void* block = api::heap_malloc(first, 100);
  EXPECT_EQ(value_of("heap.instances"), 6u);
  EXPECT_EQ(value_of("requests", "live_bytes"), 112u);
  EXPECT_EQ(value_of("requests", "live_blocks"), 1u);
  EXPECT_EQ(value_of("requests", "limit_bytes"), mib);
  EXPECT_EQ(value_of(number_of(first), "live_bytes"), 112u);
  EXPECT_EQ(value_of("a.b..c", "live_bytes"), 0u);
  EXPECT_EQ(value_of("0123456789012345678901234567890", "slabs"), 0u);
  api::heap_malloc(digits, 100000);
  EXPECT_EQ(value_of(number_of(second), "large_blocks"), 0u);  // a number is no name
  EXPECT_EQ(value_of(number_of(digits), "large_blocks"), 1u);
  for (const char* key : {"", "request", "requests.", "requestsx", "Requests", "60000", "00", "-1",
                          "a.b", "a", "64511", "4294967296", "999999999", "18446744073709551616"}) {
    EXPECT_FALSE(has_value(key, "live_bytes")) << key;
  }
  for (const char* field : {"", "heap", "live", "list_bytes", "total_bytes ", "requests"}) {
    EXPECT_FALSE(has_value("requests", field)) << field;
  }
  EXPECT_FALSE(has_value("instance.live_bytes"));
  EXPECT_FALSE(has_value("instance"));
  EXPECT_FALSE(has_value("instance."));
  const std::string gone = number_of(first);
  api::heap_destroy(first);  // the other one of that name is found now
  EXPECT_EQ(value_of("requests", "live_bytes"), 0u);
  EXPECT_FALSE(has_value(gone, "live_bytes"));
  EXPECT_EQ(value_of("heap.instances"), 5u);
  for (talus_heap* heap : {second, same, unnamed, digits, long_name}) api::heap_destroy(heap);
  EXPECT_EQ(value_of("heap.instances"), 0u);
  EXPECT_FALSE(has_value("requests", "live_bytes"));
  static_cast<void>(block);
}

// Each instance beside what was taken from it, and all of them beside the heap of all. Live bytes
// are exact to the byte, parts sum to totals, and the rest is what malloc returned.
TEST(InstanceStatistics, PartsSumToTotals) {
  const size_t base = test::live_bytes();
  test::Random random{test::seed_of("InstanceStatistics.Parts")};
  constexpr size_t heap_count = 20;
  talus_heap* heaps[heap_count] = {};
  size_t live[heap_count + 1] = {}, blocks_live[heap_count + 1] = {};
  std::vector<std::pair<void*, size_t>> blocks;  // the last one stands for malloc
  for (size_t i = 0; i < heap_count; i++) heaps[i] = heap_named(std::to_string(i + 500).c_str());
  const size_t rounds = test::rounds_of(6000) + 500;
  for (size_t round = 0; round < rounds; round++) {
    if (blocks.size() < 300 || random.below(2) == 0) {
      const size_t at = random.below(heap_count + 1);
      const size_t bytes = random.of_any_length(18);
      void* block = at < heap_count ? api::heap_malloc(heaps[at], bytes) : allocate(bytes);
      live[at] += usable_size(block);
      blocks_live[at]++;
      blocks.emplace_back(block, at);
    } else {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      live[blocks.back().second] -= usable_size(blocks.back().first);
      blocks_live[blocks.back().second]--;
      free_block(blocks.back().first);
      blocks.pop_back();
    }
    if (round % 500 != 499) continue;
    uint64_t all_live = 0, all_total = 0;
    for (size_t i = 0; i < heap_count; i++) {
      const std::string key = number_of(heaps[i]);
      ASSERT_EQ(value_of(key, "live_bytes"), live[i]);
      ASSERT_EQ(value_of(key, "live_blocks"), blocks_live[i]);
      const uint64_t total = value_of(key, "total_bytes");
      ASSERT_EQ(total, live[i] + value_of(key, "free_bytes") + value_of(key, "slab_end_bytes"));
      const talus_heap_numbers numbers = api::heap_stats(heaps[i]);
      ASSERT_EQ(total, numbers.slab_bytes + numbers.large_bytes);
      ASSERT_EQ(value_of(key, "slabs"), numbers.slabs);
      ASSERT_EQ(value_of(key, "large_blocks"), numbers.large_blocks);
      ASSERT_EQ(value_of(key, "peak_bytes"), numbers.peak_bytes);
      all_live += live[i];
      all_total += total;
    }
    ASSERT_EQ(value_of("heap.instance_live_bytes"), all_live);
    ASSERT_EQ(value_of("heap.instance_total_bytes"), all_total);
    ASSERT_EQ(value_of("heap.live_bytes"), base + all_live + live[heap_count]);
    ASSERT_GE(value_of("heap.total_bytes"), all_total);
  }
  for (const auto& block : blocks) free_block(block.first);
  for (talus_heap* heap : heaps) api::heap_destroy(heap);
  EXPECT_EQ(value_of("heap.instance_live_bytes"), 0u);
  EXPECT_EQ(value_of("heap.instance_total_bytes"), 0u);
  EXPECT_EQ(test::live_bytes(), base);
}

// Memory from elsewhere is in an instance's own values, and in nothing that is of address space.
TEST(InstanceStatistics, WhatIsProvidedIsBesideTheTotals) {
  const size_t base = test::live_bytes();
  talus_provider request{};
  request.kind = TALUS_PROVIDER_PREALLOC;
  request.bytes = 4 * mib;
  talus_heap_options requests{};
  requests.name = "provided";
  requests.provider = &request;
  talus_heap* heap = api::heap_new(&requests);
  ASSERT_NE(heap, nullptr);
  talus_heap* other = heap_named("beside");
  void* beside = api::heap_malloc(other, 1000);
  size_t live = 0;
  std::vector<void*> blocks;
  for (size_t i = 1; i <= 100; i++) {
    blocks.push_back(api::heap_malloc(heap, i * 300));
    ASSERT_NE(blocks.back(), nullptr);
    live += usable_size(blocks.back());
  }
  EXPECT_EQ(value_of("provided", "live_bytes"), live);
  EXPECT_EQ(value_of("provided", "live_blocks"), 100u);
  EXPECT_GE(value_of("provided", "peak_bytes"), live);
  const uint64_t total = value_of("provided", "total_bytes");
  EXPECT_GE(total, live);
  EXPECT_EQ(total, live + value_of("provided", "free_bytes"));
  EXPECT_EQ(value_of("heap.provided_live_bytes"), live);
  EXPECT_EQ(value_of("heap.provided_total_bytes"), total);
  EXPECT_EQ(value_of("heap.instance_live_bytes"), usable_size(beside));
  EXPECT_EQ(value_of("heap.live_bytes"), base + usable_size(beside));
  EXPECT_EQ(api::heap_stats(heap).live_bytes, live);
  EXPECT_EQ(api::heap_stats(heap).slab_bytes, total);
  const std::string info = info_of_malloc(), sizes = "\" count=\"0\" size=\"";
  EXPECT_TRUE(has(info, " name=\"provided\">\n<total type=\"used" + sizes + std::to_string(live) +
                            "\"/>\n<total type=\"rest" + sizes + std::to_string(total - live)))
      << info;
  for (void* block : blocks) api::heap_free(heap, block);
  EXPECT_EQ(value_of("provided", "live_bytes"), 0u);
  EXPECT_EQ(value_of("heap.provided_live_bytes"), 0u);
  api::heap_destroy(heap);
  EXPECT_EQ(value_of("heap.provided_total_bytes"), 0u);
  api::heap_destroy(other);
}

TEST(InstanceStatistics, EachFormTellsThem) {
  EXPECT_FALSE(has(printed(TALUS_STATS_TEXT), "instances: "));
  EXPECT_TRUE(has(printed(TALUS_STATS_JSON), ",\"instance\":{}}\n"));
  EXPECT_FALSE(has(printed(TALUS_STATS_OPENMETRICS), "talus_instance_"));
  talus_heap* heap = heap_named("a\"b\\\n\x1b\xff");
  api::heap_malloc(heap, 100);
  const std::string text = printed(TALUS_STATS_TEXT), json = printed(TALUS_STATS_JSON);
  const std::string metrics = printed(TALUS_STATS_OPENMETRICS), csv = printed(TALUS_STATS_CSV);
  EXPECT_TRUE(has(text, "  a\"b\\???\n")) << text;
  const std::string number = "\"" + number_of(heap) + "\"";
  EXPECT_TRUE(has(json, ",\"instance\":{" + number +
                            ":{\"name\":\"a\\\"b\\\\\\u000a\\u001b\xef\xbf\xbd\","
                            "\"live_bytes\":112,\"free_bytes\":"));
  EXPECT_TRUE(has(metrics, "\ntalus_instance_live_bytes{instance=" + number +
                               ",heap=\"a\\\"b\\\\\\n\x1b\xef\xbf\xbd\"} 112\n"));
  EXPECT_TRUE(has(csv, ",heap.instances,heap.instance_live_bytes,"));
  EXPECT_FALSE(has(csv, "instance." + number_of(heap)));
  for (const StatisticRow& row : instance_statistic_rows) {
    const std::string field = row.field.text();
    EXPECT_TRUE(has(json, "\"" + field + "\":")) << field;
    const std::string family = "# TYPE talus_instance_" + field + " gauge\n";
    EXPECT_EQ(count_of(metrics, family), 1u) << family;
    EXPECT_TRUE(has(text, std::string(" ") + row.label.text())) << row.label;
  }
  api::heap_destroy(heap);
}

// Names that grow the most and numbers of all lengths are neither cut nor too much for a buffer;
// beyond the bound there is a count.
TEST(InstanceStatistics, OfManyTheFirstAreTold) {
  std::vector<talus_heap*> heaps;
  for (size_t i = 0; i < 1100; i++) {
    heaps.push_back(heap_named(std::string(40, '\x01').c_str(), PTRDIFF_MAX));
  }
  std::string name;
  for (int i = 0; i < 31; i++) name += "\\u0001";
  const std::string json = printed(TALUS_STATS_JSON), text = printed(TALUS_STATS_TEXT);
  const std::string metrics = printed(TALUS_STATS_OPENMETRICS);
  EXPECT_EQ(count_of(json, "{\"name\":\"" + name + "\",\"live_bytes\":0,"), instances_told_max);
  EXPECT_TRUE(has(json, ",\"instances\":1100,"));
  EXPECT_EQ(count_of(metrics, "talus_instance_limit_bytes{"), instances_told_max);
  EXPECT_TRUE(has(metrics, "talus_instance_limit_bytes{instance=\"1023\","));
  EXPECT_TRUE(has(text, " 9223372036854775807 "));
  EXPECT_EQ(count_of(text, "  " + std::string(31, '?') + "\n"), instances_in_text_max);
  EXPECT_TRUE(has(text, "\n  and 1084 more\n"));
  for (size_t i = 0; i < 1098; i += 2) api::heap_destroy(heaps[i]);  // numbers with gaps
  EXPECT_EQ(count_of(printed(TALUS_STATS_JSON), "{\"name\""), 551u);
  EXPECT_EQ(value_of(number_of(heaps[1098]), "live_bytes"), 0u);
  EXPECT_FALSE(has_value(number_of(heaps[1096]), "live_bytes"));
  for (size_t i = 1; i < 1098; i += 2) api::heap_destroy(heaps[i]);
  for (size_t i = 1098; i < 1100; i++) api::heap_destroy(heaps[i]);
  EXPECT_EQ(value_of("heap.instances"), 0u);
}

// malloc_info has an element for each, and elements sum to what it says of the process.
TEST(InstanceStatistics, MallocInfoHasThem) {
  test::live_bytes();
  talus_heap* heap = heap_named("<&\">");
  for (size_t i = 0; i < 1000; i++) api::heap_malloc(heap, 1000);
  api::heap_malloc(heap, 100000);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 1000; i++) blocks.push_back(allocate(i));
  const std::string info = info_of_malloc();
  EXPECT_TRUE(has(info, "\" name=\"&lt;&amp;&quot;&gt;\">\n"));
  EXPECT_TRUE(has(info, "<total type=\"mmap\" count=\"1\" size=\"102400\"/>\n</heap>\n"));
  uint64_t sum = 0, last = 0;  // the process's own stands at the end
  const std::string used = "<total type=\"used\" count=\"";
  for (size_t at = info.find(used); at != std::string::npos; at = info.find(used, at + 1)) {
    sum += last;
    last = std::stoull(info.substr(info.find("size=\"", at) + 6));
  }
  EXPECT_EQ(sum, last);
  EXPECT_GE(last, 1000u * 1024);
  for (void* block : blocks) free_block(block);
  api::heap_destroy(heap);
}

TEST(InstanceStatistics, AskingTakesNothingFromTheHeap) {
  talus_heap* heap = heap_named("quiet");
  api::heap_malloc(heap, 10);
  test::live_bytes();
  uint64_t given[2], metadata[2], live[2];
  for (int i = 0; i < 2; i++) {
    errno = 1234;
    const int file = open("/dev/null", O_WRONLY);
    for (int format = 0; format < 4; format++) EXPECT_EQ(api::stats_print(file, format), 0);
    close(file);
    live[i] = value_of("quiet", "live_bytes");
    EXPECT_EQ(errno, 1234);
    given[i] = value_of("space.given_bytes");
    metadata[i] = value_of("space.metadata_bytes");
  }
  EXPECT_EQ(live[0], live[1]);
  EXPECT_EQ(given[0], given[1]);
  EXPECT_EQ(metadata[0], metadata[1]);
  api::heap_destroy(heap);
}

// Heaps begin, work and end while others ask and fork: parts of each still sum up.
TEST(InstanceStatistics, MayBeAskedForWhileTheyComeAndGo) {
  test::begin_forks();
  const size_t base = test::live_bytes();
  Atomic<bool> stop;
  std::thread asker{[&stop] {
    const int file = open("/dev/null", O_WRONLY);
    for (size_t round = 0; !stop.load_relaxed(); round++) {
      InstanceTotals found[3];
      size_t next = 0;
      const size_t count = collect_instances(next, found, 3);
      for (size_t i = 0; i < count; i++) {
        const InstanceTotals& one = found[i];
        if (one.live() + one.free + one.slab_ends != one.total()) std::abort();
        if (one.name[0] != 'n' || one.limit != limit_bytes) std::abort();
      }
      if (round % 16 == 0 && api::stats_print(file, static_cast<int>(round / 16 % 4))) std::abort();
      uint64_t value = 0;
      api::get_value("instance.name.live_bytes", &value);
    }
    close(file);
  }};
  test::on_threads(2, [](size_t self) {
    test::Random random{self};
    for (size_t round = 0; round < test::rounds_of(300); round++) {
      talus_heap* heap = heap_named("name", limit_bytes);
      for (size_t i = 0; i < 50; i++) {
        void* block = api::heap_malloc(heap, random.of_any_length(17));
        if (i % 3 == 0) api::free(block);
      }
      api::heap_destroy(heap);
    }
  });
  talus_heap* heap = heap_named("name", limit_bytes);
  api::heap_malloc(heap, 1000);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const bool is_there = value_of("name", "live_bytes") == 1024 && value_of("heap.instances") == 1;
    _exit(is_there && has(printed(TALUS_STATS_JSON), "\"name\":\"name\"") ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  stop.store_relaxed(true);
  asker.join();
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), base);
}

}  // namespace
}  // namespace talus::core
