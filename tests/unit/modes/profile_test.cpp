// SPDX-License-Identifier: MIT
// tests/unit/modes/profile: samples of blocks, and what they say of all blocks.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "each_way.hpp"
#include "effort.hpp"
#include "late.hpp"
#include "modes/profile.hpp"
#include "modes/sample_distances.hpp"
#include "paths/aligned_at.hpp"
#include "paths/batch.hpp"
#include "sides_fixture.hpp"

extern "C" __attribute__((weak)) int talus_test_find_code(
    void* code, talus::core::unwind::FoundObject* found) __asm__("_dl_find_object");
extern "C" int talus_test_list_code(int (*visit)(talus::core::unwind::ListedObject*, size_t, void*),
                                    void* with) __asm__("dl_iterate_phdr");

namespace talus::core {
namespace {

using test::make;

constexpr uint64_t mean_bytes = 16 * kib;

// What the samples say of all blocks of a size.
struct Estimate {
  double made = 0, live = 0;
  uint64_t samples = 0;
};
Estimate estimate_of(size_t block_bytes) {
  Estimate estimate;
  const double weight =
      1 / -std::expm1(-static_cast<double>(block_bytes) / static_cast<double>(mean_bytes));
  profile::profile.sites->for_each_site([&](const profile::Site& site, const uintptr_t*) {
    if (site.block_bytes != block_bytes) return;
    const uint64_t made = site.shared_allocations.load_stat();
    estimate.samples += made;
    estimate.made += weight * static_cast<double>(made);
    estimate.live += weight * static_cast<double>(made - site.shared_frees.load_stat());
  });
  return estimate;
}

class ProfileTest : public testing::Test {
 protected:
  void SetUp() override {
    test::own_cache();
    ASSERT_TRUE(profile::prepare(mean_bytes, {&talus_test_find_code, &talus_test_list_code}));
    ASSERT_TRUE(switch_on(profile::profile.mode));
    free_block(make(1));  // comes back to the context with two sides
    ASSERT_TRUE(current_context().operations->has_sides);
    live_before_ = live();
  }
  void TearDown() override {
    EXPECT_EQ(live(), live_before_) << "each sampled block was noticed when it ended";
    switch_off(profile::profile.mode);
    free_block(make(1));
    EXPECT_EQ(test::live_bytes(), 0u);
    EXPECT_TRUE(test::space_is_sound());
  }
  static size_t live() { return profile::profile.sites->live_count(); }
  static uint64_t lost() { return profile::profile.sites->lost(); }
  size_t live_before_ = 0;
};

TEST(ProfileDistances, AreExponential) {
  uint64_t state = test::seed_of("Distances");
  constexpr size_t count = 200000;
  constexpr double mean = 524288;
  std::vector<double> drawn(count);
  double sum = 0;
  for (double& one : drawn) sum += one = static_cast<double>(draw_bytes(state, 524288));
  EXPECT_NEAR(sum / count, mean, 5 * mean / std::sqrt(static_cast<double>(count)));
  std::sort(drawn.begin(), drawn.end());
  double farthest = 0;  // Kolmogorov and Smirnov
  for (size_t i = 0; i < count; i++) {
    const double expected = -std::expm1(-drawn[i] / mean);
    farthest = std::max(farthest, std::fabs(expected - static_cast<double>(i) / count));
  }
  EXPECT_LT(farthest, 2.5 / std::sqrt(static_cast<double>(count)));
}

// A resize holds a record while the profile begins again: no other block gets it.
TEST(ProfileSites, AProfileThatBeginsAgainForgetsWhatLives) {
  const size_t bytes = round_up(sizeof(profile::Sites), os::page_bytes());
  auto& sites = *static_cast<profile::Sites*>(os::map_pages(nullptr, bytes));
  profile::Stack stack;
  stack.frames[stack.count++] = 1;
  size_t live = 0;
  {
    Held held{space.lock()};
    const auto begin = [&](uintptr_t block) {
      sites.begin_block(held, {block, 16, 16, 0}, stack, 1, 1);
    };
    begin(0x1000);
    begin(0x2000);
    const uint32_t resized = sites.hold(held, 0x1000);
    sites.forget_live(held);
    live = sites.live_count();
    begin(0x3000);
    sites.put_back(held, resized);
    begin(0x4000);
    for (const uintptr_t block : {0x1000, 0x2000, 0x3000, 0x4000}) sites.end_block(held, block, 2);
  }
  EXPECT_EQ(live, 1u);
  EXPECT_EQ(sites.live_count(), 0u);
  os::System::unmap(&sites, bytes);
}

// What each of two sites held at the peak: it moves with each new one, and stays when blocks go.
TEST(ProfileSites, KeepWhatLivedAtThePeak) {
  const size_t bytes = round_up(sizeof(profile::Sites), os::page_bytes());
  auto& sites = *static_cast<profile::Sites*>(os::map_pages(nullptr, bytes));
  profile::Stack first, second;
  first.frames[first.count++] = 1;
  second.frames[second.count++] = 2;
  {
    Held held{space.lock()};
    const auto peak_of = [&](size_t index) {
      const profile::Site& site = sites.sites[index];
      return site.peak_turn == sites.peak_turn ? site.live_at_peak : site.live;
    };
    for (uintptr_t i = 1; i <= 3; i++) sites.begin_block(held, {i << 12, 100, 112, 0}, first, 7, i);
    for (uintptr_t i = 4; i <= 5; i++) sites.begin_block(held, {i << 12, 50, 64, 0}, second, 8, i);
    EXPECT_EQ(sites.peak_weighted, 400u);
    EXPECT_EQ(sites.peak_ns, 5u);
    sites.end_block(held, 1 << 12, 6);
    sites.end_block(held, 4 << 12, 7);
    sites.begin_block(held, {6 << 12, 50, 64, 0}, second, 8, 8);  // 300 bytes live now
    EXPECT_EQ(peak_of(1).blocks, 3u);
    EXPECT_EQ(peak_of(1).bytes, 300u);
    EXPECT_EQ(peak_of(2).blocks, 2u);
    EXPECT_EQ(peak_of(2).bytes, 100u);
    sites.begin_block(held, {7 << 12, 200, 208, 0}, first, 7, 9);  // another site, and a new peak
    EXPECT_EQ(sites.peak_weighted, 500u);
    EXPECT_EQ(peak_of(1).bytes, 200u);
    EXPECT_EQ(peak_of(2).bytes, 100u);
    EXPECT_EQ(peak_of(3).bytes, 200u);
    sites.forget_live(held);
    EXPECT_EQ(sites.live_weighted, 0u);
    EXPECT_EQ(peak_of(1).bytes + peak_of(2).bytes + peak_of(3).bytes, 500u);
  }
  os::System::unmap(&sites, bytes);
}

TEST(ProfileSites, CountLivesByLength) {
  profile::Lives lives;
  for (const uint64_t life_ns : {0u, 9999u, 10000u, 99999u, 1000000u}) lives.add(life_ns);
  lives.add(uint64_t{1} << 50);
  const uint64_t counts[] = {2, 2, 0, 1, 0, 0, 0, 0, 0, 1};
  for (size_t i = 0; i < profile::Lives::bins; i++) EXPECT_EQ(lives.counts[i], counts[i]) << i;
  EXPECT_EQ(lives.sum_ns[1], 109999u);
}

TEST(ProfileSites, WeightsAreThoseOfTheDistribution) {
  for (const uint64_t block : {16u, 512u, 8192u, 65536u, 1u << 20, 1u << 28}) {
    const double x = static_cast<double>(block) / 524288;
    EXPECT_NEAR(profile::weight_of(block, 524288) * -std::expm1(-x), 1, 1e-6) << block;
  }
  EXPECT_EQ(profile::weight_of(16, 0), 1);
}

// Five times the deviation of the estimate: each of `blocks` is sampled with probability p.
double tolerance(size_t blocks, size_t block_bytes) {
  const double p = -std::expm1(-static_cast<double>(block_bytes) / static_cast<double>(mean_bytes));
  return 5 * std::sqrt(static_cast<double>(blocks) * (1 - p) / p) + 2;
}

TEST_F(ProfileTest, EstimatesAreUnbiased) {
  for (const size_t bytes : {16, 112, 1024, 4096, 20480, 131072}) {
    const Estimate before = estimate_of(bytes);
    const size_t count = test::rounds_of(64 * mib / bytes < 200000 ? 64 * mib / bytes : 200000);
    std::vector<void*> kept;
    for (size_t i = 0; i < count; i++) {
      void* block = make(bytes);
      i % 4 == 0 ? kept.push_back(block) : free_block(block);
    }
    const Estimate now = estimate_of(bytes);
    EXPECT_NEAR(now.made - before.made, static_cast<double>(count), tolerance(count, bytes));
    EXPECT_NEAR(now.live - before.live, static_cast<double>(kept.size()),
                tolerance(kept.size(), bytes))
        << bytes;
    if (count * bytes > 100 * mean_bytes) {
      EXPECT_GT(now.samples, before.samples);
    }
    for (void* block : kept) free_block(block);
    EXPECT_EQ(estimate_of(bytes).live, before.live);
  }
  EXPECT_EQ(lost(), 0u);
}

[[gnu::noinline]] void* make_here(size_t bytes) {
  void* block = make(bytes);
  asm volatile("" : "+r"(block));
  return block;
}
TEST_F(ProfileTest, SitesHaveTheirStacks) {
  const auto begin = reinterpret_cast<uintptr_t>(&make_here);
  const auto count = [begin](bool has_to_be_here) {
    uint64_t found = 0;
    profile::profile.sites->for_each_site([&](const profile::Site& site, const uintptr_t* frames) {
      bool is_here = false;
      for (size_t i = 0; i < site.frame_count; i++) is_here |= frames[i] - begin < 64;
      if (is_here || !has_to_be_here) found += site.shared_allocations.load_stat();
    });
    return found;
  };
  const uint64_t all = count(false), here = count(true);
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; i++) blocks.push_back(make_here(1008));
  EXPECT_GT(count(true) - here, 50u);
  EXPECT_EQ(count(true) - here, count(false) - all);
  for (void* block : blocks) free_block(block);
}

// Each way to make and to end a block keeps contents, zeros and the profile's counts.
TEST_F(ProfileTest, EachWayToMakeABlock) {
  test::BlocksOfEachWay blocks(15, 14, 200);
  blocks.run(test::rounds_of(20000), [](const void*) {});
  EXPECT_GT(live(), live_before_);
}

// A sample knows a place in a slab of its class, whether blocks are new or come back.
TEST_F(ProfileTest, SamplesKnowWhereTheyWouldLie) {
  std::vector<void*> blocks;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 5000; i++) blocks.push_back(make(368));
    const profile::Sites& sites = *profile::profile.sites;
    size_t samples = 0;
    for (size_t i = 1; i <= sites.record_count; i++) {
      const profile::Record& record = sites.records[i];
      if (record.block == 0 || record.bytes != 368) continue;
      samples++;
      const PageEntry word = page_map.word_anywhere(record.place);
      ASSERT_TRUE(word.is_slab());
      EXPECT_EQ(class_of_tag(word.tag()), class_of(368));
    }
    EXPECT_GT(samples, 20u);
    for (void* block : blocks) free_block(block);
    blocks.clear();
  }
}

// Sampled blocks share slices, and say the size that an ordinary block has.
TEST_F(ProfileTest, SamplesShareSlices) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; i++) blocks.push_back(make(500));
  std::multiset<uintptr_t> samples;
  for (const profile::Record& record : profile::profile.sites->records) {
    if (record.block == 0 || record.bytes != 500) continue;
    samples.insert(record.block / slice_bytes);
    EXPECT_EQ(usable_size(reinterpret_cast<void*>(record.block)), usable_size(blocks[0]));
  }
  EXPECT_GT(samples.size(), 300u);
  EXPECT_GT(samples.count(*samples.begin()), 20u) << "128 of them fit in a slice";
  for (void* block : blocks) free_block(block);
}

TEST_F(ProfileTest, OtherThreadsFreeWhatWasSampled) {
  std::vector<void*> blocks;
  for (int i = 0; i < 5000; i++) blocks.push_back(make(512));
  EXPECT_GT(live(), live_before_);
  std::thread([&blocks] {
    for (void* block : blocks) free_block(block);
  }).join();
  EXPECT_EQ(live(), live_before_);
}

TEST_F(ProfileTest, ThreadsSampleOnTheirOwn) {
  const Estimate before = estimate_of(256);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([] {
      for (int j = 0; j < 20000; j++) free_block(make(256));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Estimate now = estimate_of(256);
  EXPECT_NEAR(now.made - before.made, 80000, tolerance(80000, 256));
}

// Few blocks are told one by one: those with a sample.
TEST_F(ProfileTest, OtherBlocksStayOnTheFastPaths) {
  SidedContext& sides = *current_sides();
  const uint64_t begun = sides.moved[index_of(class_of(64))].load_stat();
  const Estimate before = estimate_of(64);
  for (int i = 0; i < 100000; i++) free_block(make(64));
  const uint64_t samples = estimate_of(64).samples - before.samples;
  const uint64_t moved = sides.moved[index_of(class_of(64))].load_stat() - begun;
  EXPECT_LE(moved + samples, 100000 + side_blocks_of(index_of(class_of(64))));
  EXPECT_GE(moved + samples, 100000 - side_blocks_of(index_of(class_of(64))));
  EXPECT_LT(samples, 2000u);
}

TEST_F(ProfileTest, Batches) {
  const Estimate before = estimate_of(112);
  constexpr size_t batch = 8, batches = 50000;
  void* blocks[batch];
  for (size_t i = 0; i < batches; i++) {
    ASSERT_EQ(allocate_batch(112, batch, blocks), batch);
    for (void* block : blocks) free_block(block);
  }
  const Estimate now = estimate_of(112);
  EXPECT_NEAR(now.made - before.made, batch * batches, 0.1 * batch * batches)
      << "a sample within a batch waits for the next one, so there is at most one in each";
}

TEST_F(ProfileTest, BlocksOfHeapsEndWithThem) {
  const Estimate before = estimate_of(768);
  constexpr size_t count = 20000;
  talus_heap* heap = api::heap_new(nullptr);
  ASSERT_NE(heap, nullptr);
  for (size_t i = 0; i < count; i++) ASSERT_NE(api::heap_malloc(heap, 768), nullptr);
  const Estimate now = estimate_of(768);
  EXPECT_NEAR(now.made - before.made, count, tolerance(count, 768));
  EXPECT_NEAR(now.live - before.live, count, tolerance(count, 768));
  api::heap_destroy(heap);
  EXPECT_EQ(live(), live_before_);
}

TEST_F(ProfileTest, LargeBlocks) {
  for (const size_t bytes : {300 * kib, 2 * mib}) {
    const uint64_t before = live();
    void* block = make(bytes);
    EXPECT_EQ(live(), before + 1) << "the mean distance is a twentieth of this";
    block = reallocate(block, bytes + mib);
    EXPECT_EQ(live(), before + 1);
    free_block(block);
    EXPECT_EQ(live(), before);
  }
}

// A site has its numbers, and what finds no room is lost and counted.
TEST(ProfileSites, AreBounded) {
  const size_t bytes = round_up(sizeof(profile::Sites), os::page_bytes());
  auto* sites = static_cast<profile::Sites*>(os::map_pages(nullptr, bytes));
  ASSERT_NE(sites, nullptr);
  profile::Stack stack;
  stack.count = 2;
  stack.frames[0] = 1;
  constexpr size_t count = 2 * profile::Sites::record_count_max;
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    stack.frames[1] = i % (2 * profile::Sites::site_count_max);
    Held held{space.lock()};
    sites->begin_block(held, {4096 * (i + 1), 10, 16, 0}, stack, 1, 1);
    kept = sites->live_count();
  }
  EXPECT_LT(kept, profile::Sites::record_count_max);
  EXPECT_GT(kept, profile::Sites::record_count_max * 9 / 10);
  EXPECT_EQ(kept + sites->lost(), count);
  uint64_t made = 0, ended = 0, site_count = 0;
  for (size_t i = 0; i < count; i++) {
    if (!sites->may_have(4096 * (i + 1))) continue;
    Held held{space.lock()};
    sites->end_block(held, 4096 * (i + 1), 2);
  }
  sites->for_each_site([&](const profile::Site& site, const uintptr_t* frames) {
    site_count++;
    made += site.shared_allocations.load_stat();
    ended += site.shared_frees.load_stat();
    EXPECT_EQ(site.shared_freed_bytes.load_stat(), 10 * site.shared_frees.load_stat());
    EXPECT_EQ(frames[0], 1u);
  });
  EXPECT_EQ(site_count, profile::Sites::site_count_max - 1);
  EXPECT_EQ(made, kept);
  EXPECT_EQ(ended, kept);
  EXPECT_EQ(sites->live_count(), 0u);
  os::System::unmap(sites, bytes);
}

TEST_F(ProfileTest, AForkKeepsTheProfile) {
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; i++) blocks.push_back(make(512));
  const pid_t child = fork();
  if (child == 0) {
    for (void* block : blocks) free_block(block);
    _exit(live() == live_before_ ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (void* block : blocks) free_block(block);
}

}  // namespace
}  // namespace talus::core
