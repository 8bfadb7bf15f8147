// SPDX-License-Identifier: MIT
// tests/unit/regions/region: blocks of any size in one range, against a naive model of the same.
//
// Owns: a source of memory that only keeps books: the region never touches what it hands out, so
// its addresses need no memory behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "effort.hpp"
#include "regions/region_life.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {

struct Books {
  std::set<uintptr_t> committed;  // pages
  size_t commits = 0;
  size_t purges = 0;
  bool refuses_commits = false;
  bool refuses_purges = false;
};
Books books;
constexpr size_t page = 4 * kib;

bool commit_in_books(RegionHeap& region, uintptr_t at, size_t bytes, size_t room) noexcept {
  EXPECT_GE(room, bytes);
  EXPECT_TRUE(at >= region.base && at + room <= region.end);
  if (books.refuses_commits) return false;
  books.commits++;
  for (uintptr_t to = at; to < at + bytes; to += page) {
    EXPECT_TRUE(books.committed.insert(to).second) << "it had memory already";
  }
  return true;
}
bool purge_in_books(RegionHeap&, uintptr_t at, size_t bytes) noexcept {
  if (books.refuses_purges) return false;
  books.purges++;
  for (uintptr_t to = at; to < at + bytes; to += page) {
    EXPECT_EQ(books.committed.erase(to), 1u) << "it had no memory";
  }
  return true;
}
const RegionSource source = {commit_in_books, purge_in_books, nullptr, false};

class Region : public testing::Test {
 protected:
  static constexpr uintptr_t base = (uintptr_t{1} << 36) + 5 * page;
  RegionHeap* region = nullptr;
  size_t bytes = 0;

  void begin(size_t region_bytes) {
    bytes = region_bytes;
    books = Books{};
    region = begin_region_aside<RegionHeap>(slices_of(base, base + bytes));
    ASSERT_NE(region, nullptr);
    place_region(*region, base, base + bytes, source);
    region->has_page_entries = false;
  }
  void TearDown() override {
    if (region != nullptr) free_bookkeeping(*region);
  }
};

// Address to bytes of each block.
using Model = std::map<uintptr_t, size_t>;

bool has_gap(const Model& model, uintptr_t base, uintptr_t end, size_t bytes, size_t alignment) {
  uintptr_t from = base;
  for (const auto& [at, length] : model) {
    if (round_up(from, alignment) + bytes <= at) return true;
    from = at + length;
  }
  return round_up(from, alignment) + bytes <= end;
}

void expect_sound(const RegionHeap& region, const Model& model) {
  size_t live = 0;
  auto next = model.begin();
  for_each_block_of(region, 0, [&](void* block, size_t units) noexcept {
    EXPECT_NE(next, model.end());
    if (next == model.end()) return false;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block), next->first);
    EXPECT_EQ(units * unit_bytes, next->second);
    for (uintptr_t at = round_down(next->first, page); at < next->first + next->second;
         at += page) {
      EXPECT_EQ(books.committed.count(at), 1u) << "a block without memory";
    }
    live += units;
    ++next;
    return true;
  });
  EXPECT_EQ(next, model.end());
  EXPECT_EQ(region.live_units, live);
  EXPECT_EQ(region.live_count, model.size());
  EXPECT_EQ(region.committed_bytes, books.committed.size() * page);
}

// A null is right only if there is no gap, and each block lies in one.
TEST_F(Region, GivesWhatFitsAndNothingElse) {
  begin(mib + 3 * page);
  std::mt19937_64 random(test::seed_of("region"));
  Model model;
  size_t refused = 0;
  const size_t rounds = test::rounds_of(30000);
  for (size_t step = 0; step < rounds; step++) {
    const size_t kind = random() % 20;
    const size_t size = kind == 0 ? random() % (300 * kib) : random() % (kind < 5 ? 20000 : 700);
    if (random() % 9 < 5) {
      const size_t alignment = size_t{16} << (random() % 4 == 0 ? random() % 14 : 0);
      const size_t rounded = round_up(size == 0 ? 1 : size, unit_bytes);
      const bool fits = has_gap(model, region->base, region->end, rounded, alignment);
      void* block = take_from_region(*region, size, alignment);
      ASSERT_EQ(block != nullptr, fits) << size << " at " << alignment;
      refused += !fits;
      if (!fits) continue;
      const uintptr_t at = reinterpret_cast<uintptr_t>(block);
      ASSERT_EQ(at % alignment, 0u);
      ASSERT_TRUE(at >= region->base && at + rounded <= region->end);
      auto after = model.lower_bound(at);
      ASSERT_TRUE(after == model.end() || at + rounded <= after->first);
      if (after != model.begin()) {
        const auto before = std::prev(after);
        ASSERT_LE(before->first + before->second, at);
      }
      model[at] = rounded;
    } else if (!model.empty()) {
      auto chosen = std::next(model.begin(), random() % model.size());
      void* block = reinterpret_cast<void*>(chosen->first);
      const size_t units = units_of(*region, block);
      ASSERT_EQ(units * unit_bytes, chosen->second);
      ASSERT_EQ(units_of(*region, static_cast<char*>(block) + unit_bytes) != 0,
                model.count(chosen->first + unit_bytes) != 0);
      if (random() % 3 == 0) {
        const size_t rounded = round_up(size == 0 ? 1 : size, unit_bytes);
        const auto behind = std::next(chosen);
        const uintptr_t room_end = behind == model.end() ? region->end : behind->first;
        ASSERT_EQ(resize_in_region(*region, block, units, size),
                  chosen->first + rounded <= room_end);
        chosen->second = bytes_of(*region, block);
        if (chosen->first + rounded <= room_end) {
          ASSERT_EQ(chosen->second, rounded);
        }
      } else {
        give_to_region(*region, block, units);
        model.erase(chosen);
        ASSERT_EQ(units_of(*region, block), 0u);
      }
    }
    if (step % 500 == 0) expect_sound(*region, model);
  }
  expect_sound(*region, model);
  EXPECT_GT(refused, rounds / 1500) << "it was never full for long";
  for (const auto& [at, length] : model) {
    give_to_region(*region, reinterpret_cast<void*>(at), length / unit_bytes);
  }
  expect_sound(*region, {});
}

TEST_F(Region, IsUsedToTheLastUnit) {
  begin(256 * kib);
  void* all = take_from_region(*region, bytes, 16);
  EXPECT_EQ(all, reinterpret_cast<void*>(base));
  EXPECT_EQ(take_from_region(*region, 1, 16), nullptr);
  give_to_region(*region, all, bytes / unit_bytes);
  EXPECT_EQ(take_from_region(*region, bytes + 1, 16), nullptr);
  size_t blocks = 0;
  while (take_from_region(*region, 1, 16) != nullptr) blocks++;
  EXPECT_EQ(blocks, bytes / unit_bytes);
  empty_region(*region);
  EXPECT_EQ(take_from_region(*region, bytes, 16), all);
}

TEST_F(Region, GivesMemoryBackBeyondAnEighth) {
  begin(64 * mib);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 32; i++) blocks.push_back(take_from_region(*region, mib, 16));
  const size_t units = mib / unit_bytes;
  EXPECT_GE(region->committed_bytes, 32 * mib);
  for (size_t i = 0; i < 32; i += 2) give_to_region(*region, blocks[i], units);
  EXPECT_LE(region->committed_bytes, 24 * mib);
  EXPECT_GT(books.purges, 0u);
  for (size_t i = 1; i < 32; i += 2) give_to_region(*region, blocks[i], units);
  EXPECT_LE(region->committed_bytes, 2 * mib + slice_bytes);
  expect_sound(*region, {});
}

TEST_F(Region, GivesBackWhatABlockNoLongerNeeds) {
  begin(64 * mib);
  void* block = take_from_region(*region, 32 * mib, 16);
  EXPECT_GE(region->committed_bytes, 32 * mib);
  ASSERT_TRUE(resize_in_region(*region, block, 32 * mib / unit_bytes, 1000));
  EXPECT_LE(region->committed_bytes, mib + 2 * slice_bytes);
  expect_sound(*region, {{reinterpret_cast<uintptr_t>(block), 1008}});
}

TEST_F(Region, BearsRefusals) {
  begin(8 * mib);
  void* first = take_from_region(*region, 100, 16);
  books.refuses_commits = true;
  EXPECT_EQ(take_from_region(*region, mib, 16), nullptr);
  EXPECT_FALSE(resize_in_region(*region, first, units_of(*region, first), mib));
  EXPECT_EQ(bytes_of(*region, first), 112u);
  EXPECT_NE(take_from_region(*region, 1000, 16), nullptr) << "that slice has memory";
  books.refuses_commits = false;
  books.refuses_purges = true;
  void* large = take_from_region(*region, 5 * mib, 16);
  ASSERT_NE(large, nullptr);
  give_to_region(*region, large, 5 * mib / unit_bytes);
  EXPECT_GE(region->committed_bytes, 5 * mib);
  books.refuses_purges = false;
  empty_region(*region);
  expect_sound(*region, {});
  EXPECT_LE(region->committed_bytes, mib + slice_bytes);
}

// The lowest place may have had its memory taken back, and others not.
TEST_F(Region, UsesMemoryThatItHasWhereThereIsNoMore) {
  begin(8 * mib);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 120; i++) blocks.push_back(take_from_region(*region, 60000, 16));
  for (size_t i = 119; i-- > 0;) {
    give_to_region(*region, blocks[i], units_of(*region, blocks[i]));
  }
  ASSERT_LT(region->committed_bytes, 3 * mib);
  books.refuses_commits = true;
  Model model = {{reinterpret_cast<uintptr_t>(blocks[119]), 60000}};
  for (const size_t size : {size_t{16}, size_t{60000}, size_t{4096}}) {
    void* block = take_from_region(*region, size, size == 4096 ? 4096 : 16);
    ASSERT_NE(block, nullptr) << size;
    model[reinterpret_cast<uintptr_t>(block)] = size;
  }
  expect_sound(*region, model);
  EXPECT_EQ(take_from_region(*region, 3 * mib, 16), nullptr) << "no gap is as large";
}

TEST_F(Region, HasALimit) {
  begin(mib);
  region->limit_bytes = 1000;
  void* block = take_from_region(*region, 600, 16);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(take_from_region(*region, 600, 16), nullptr);
  EXPECT_FALSE(resize_in_region(*region, block, units_of(*region, block), 1100));
  EXPECT_TRUE(resize_in_region(*region, block, units_of(*region, block), 1000 - 8));
  EXPECT_EQ(take_from_region(*region, 1, 16), nullptr);
}

}  // namespace
}  // namespace talus::core
