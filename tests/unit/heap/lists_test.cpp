// SPDX-License-Identifier: MIT
// tests/unit/heap/lists: a thread's lists: refilled and flushed by half or by more, doubled on use;
// and what malloc and free promise about a single block.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

class Lists : public test::FixedClasses {};

// Behind the last block of a slab any answer is right: what is no block is found later.
TEST_F(Lists, AnAddressAloneTellsWhetherABlockStartsThere) {
  const ThreadCache& cache = test::own_cache();
  for (size_t index = 0; index < factored_class_count; index++) {
    const SizeClass& row = size_class_table.rows[index];
    for (size_t offset = 0; offset < size_t{row.block_count} * row.block_bytes; offset++) {
      const auto address = 7 * row.slab_slices * slice_bytes + offset;
      const bool is_start = is_start_at_hand(cache, reinterpret_cast<void*>(address), index);
      ASSERT_EQ(is_start, offset % row.block_bytes == 0) << offset << " of " << row.block_bytes;
    }
  }
}

TEST_F(Lists, EverySizeGivesABlockThatHoldsIt) {
  for (size_t size = 0; size <= 3 * small_bytes_max; size += size < 4096 ? 1 : 509) {
    void* block = allocate(size);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % block_alignment, 0u);
    ASSERT_GE(usable_size(block), size);
    test::fill_pattern(block, usable_size(block), size);
    ASSERT_TRUE(test::has_pattern(block, usable_size(block), size));
    free_block(block);
  }
  EXPECT_EQ(usable_size(nullptr), 0u);
  free_block(nullptr);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(Lists, LastInFirstOut) {
  void* first = allocate(40);
  void* second = allocate(40);
  free_block(first);
  free_block(second);
  EXPECT_EQ(allocate(40), second);
  EXPECT_EQ(allocate(40), first);
  free_block(first);
  free_block(second);
}

TEST_F(Lists, FreshBlocksComeInTheOrderOfAddresses) {
  ThreadCache& cache = test::own_cache();
  flush_all(cache);
  std::vector<char*> blocks;
  for (int i = 0; i < 64; i++) blocks.push_back(static_cast<char*>(allocate(112)));
  size_t ascending = 0;
  for (size_t i = 1; i < blocks.size(); i++) ascending += blocks[i] == blocks[i - 1] + 112;
  EXPECT_EQ(ascending, blocks.size() - 1);
  for (char* block : blocks) free_block(block);
}

TEST_F(Lists, CapacityDoublesUpToTheClassesBoundAndListsStayWithin) {
  ThreadCache& cache = test::own_cache();
  for (size_t index = 0; index < small_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const SizeClass& row = size_class_row(id);
    const size_t most = list_blocks_of(row.block_bytes, list_bytes_max);
    std::vector<void*> blocks;
    size_t before = list_capacity(cache, id);
    for (size_t i = 0; i < 4 * most; i++) {
      blocks.push_back(allocate(row.block_bytes));
      ASSERT_NE(blocks.back(), nullptr);
      ASSERT_LE(list_length(cache, id), list_capacity(cache, id));
      ASSERT_GE(list_capacity(cache, id), before);
      ASSERT_LE(list_capacity(cache, id), 2 * std::max(before, list_first_of(id)));
      before = list_capacity(cache, id);
    }
    for (void* block : blocks) {
      free_block(block);
      ASSERT_LE(list_length(cache, id), most);
    }
    EXPECT_EQ(list_capacity(cache, id), most);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Half of a list moves, so that it may go on either way; what goes on the same way moves more.
TEST_F(Lists, MoveABatchWhereTheyGoOnTheSameWay) {
  ThreadCache& cache = test::own_cache();
  const uint64_t list_bytes = options.list_bytes;
  options.list_bytes = 0;  // no list becomes wide
  for (const size_t bytes : {size_t{16}, size_t{64}, size_t{1500}, size_t{4000}, size_t{20000}}) {
    const ClassId id = class_of(bytes);
    const size_t most = list_most_of(id), half = (most + 1) / 2;
    const size_t batch =
        bytes > fast_bytes_max ? half : std::max(half, std::min(most, list_batch_blocks));
    std::vector<void*> blocks;
    // Takes blocks until the list is empty, at least one. Returns how many.
    const auto take_all = [&]() {
      size_t taken = 0;
      do {
        blocks.push_back(allocate(bytes));
        taken++;
      } while (list_length(cache, id) > 0);
      return taken;
    };
    // Frees blocks until the list was full and some went home. Returns how many stayed.
    const auto fill = [&]() {
      size_t before = 0;
      do {
        before = list_length(cache, id);
        free_block(blocks.back());
        blocks.pop_back();
      } while (list_length(cache, id) > before);
      return list_length(cache, id) - 1;  // with the one that was freed last
    };
    for (int i = 0; i < 24; i++) take_all();  // the list gets its full capacity
    EXPECT_EQ(take_all(), batch) << bytes;
    EXPECT_EQ(fill(), most - half) << bytes << ", for the first time";
    EXPECT_EQ(fill(), most - batch) << bytes << ", again";
    take_all();
    EXPECT_EQ(take_all(), half) << bytes << ", for the first time";
    EXPECT_EQ(take_all(), batch) << bytes << ", again";
    for (void* block : blocks) free_block(block);
  }
  options.list_bytes = list_bytes;
}

// A thread that takes one block of each of many classes does not hold unused ones.
TEST_F(Lists, OfLargeBlocksBeginWithOne) {
  ThreadCache& cache = test::own_cache();
  flush_all(cache);
  for (size_t index = 0; index < small_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t bytes = size_class_row(id).block_bytes;
    void* block = allocate(bytes);
    const size_t taken = list_length(cache, id) + 1;
    EXPECT_LE(taken * bytes, std::max(bytes, list_bytes_start)) << index;
    free_block(block);
    EXPECT_EQ(list_length(cache, id), taken) << index;
  }
  flush_all(cache);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A thread that uses all classes a little touches few pages of its cache.
TEST_F(Lists, LieCloseToEachOtherUntilTheyAreUsedMuch) {
  ThreadCache& cache = test::own_cache();
  std::vector<void*> blocks;
  const auto few = [&](size_t count) {
    for (size_t index = 0; index < fixed_class_count; index++) {
      for (size_t i = 0; i < count; i++) {
        blocks.push_back(allocate(size_class_table.rows[index].block_bytes));
      }
    }
    for (void* block : blocks) free_block(block);
    blocks.clear();
  };
  const uint64_t list_bytes = options.list_bytes;
  options.list_bytes = 0;  // no list becomes wide
  flush_all(cache);
  few(4);
  for (size_t index = 0; index < fixed_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    EXPECT_EQ(list_bottom(cache, id), first_place(cache, id)) << index;
  }
  const ClassId last{static_cast<uint8_t>(fixed_class_count - 1)};
  EXPECT_LT(list_of(cache, last).limit - cache.storage, 10 * 128) << "10 KiB";

  few(200);
  for (size_t index = 0; index < fixed_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const bool is_close = list_bottom(cache, id) == first_place(cache, id);
    EXPECT_EQ(is_close, list_most_of(id) == list_bounds.first_blocks[index]) << index;
  }
  flush_all(cache);
  for (size_t index = 0; index < fixed_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    EXPECT_EQ(list_bottom(cache, id), first_place(cache, id)) << index;
  }
  options.list_bytes = list_bytes;
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A thread that frees what others of its heap allocated has no use for lists, of whatever class.
TEST_F(Lists, HaveNoRoomWhereAThreadOnlyFrees) {
  ThreadCache& cache = test::own_cache();
  for (size_t index = 0; index < small_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t bytes = size_class_row(id).block_bytes, most = list_most_of(id);
    std::vector<void*> blocks;
    flush_all(cache);
    for (size_t i = 0; i < 4 * most; i++) blocks.push_back(allocate(bytes));
    EXPECT_EQ(list_capacity(cache, id), most);
    flush_all(cache);  // lists are as in a thread that never allocated
    for (void* block : blocks) {
      free_block(block);
      ASSERT_EQ(list_capacity(cache, id), 0u) << index;
      ASSERT_EQ(list_length(cache, id), 0u) << index;
    }
    for (void*& block : blocks) block = allocate(bytes);
    EXPECT_EQ(list_capacity(cache, id), most) << "a thread that allocates gets long ones";
    for (void* block : blocks) free_block(block);
  }
}

// ... and what it frees goes home together, whatever the sizes, so that not every free is a way to
// the slabs.
TEST_F(Lists, LeaveItToABatchWhereAThreadOnlyFrees) {
  ThreadCache& cache = test::own_cache();
  std::vector<void*> blocks;
  size_t bytes = 0;
  for (size_t i = 0; i < 5000; i++) {
    blocks.push_back(allocate(16 + i % 61 * 16));
    bytes += usable_size(blocks.back());
  }
  flush_all(cache);
  const auto collected = [&cache] {
    const RemoteMessage* message = return_batch(cache).message;
    return message == nullptr ? 0 : message->bytes.load_relaxed();
  };
  size_t deliveries = 0;
  for (void* block : blocks) {
    const size_t before = collected();
    free_block(block);
    ASSERT_LT(collected(), return_batch_bytes_max);
    deliveries += collected() < before;
  }
  EXPECT_GE(deliveries, bytes / (return_batch_bytes_max + kib));
  const size_t by_bytes = bytes / (return_batch_bytes_max - kib);
  EXPECT_LE(deliveries, by_bytes + blocks.size() / RemoteMessage::blocks_max);
  EXPECT_EQ(collect_totals().on_their_way, collected()) << "they are free, and known";
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A thread that takes one now and then has room for a few of what the fast paths know.
TEST_F(Lists, HaveRoomForAFewBlocksWhereAThreadMostlyFrees) {
  ThreadCache& cache = test::own_cache();
  for (size_t index = 0; index < small_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t bytes = size_class_row(id).block_bytes;
    const bool is_slow_list = index >= fast_class_count;
    EXPECT_LE(list_over_of(id) * bytes, list_bytes_max) << index;
    std::vector<void*> blocks;
    for (size_t i = 0; i < 3 * list_over_of(id) + 8; i++) blocks.push_back(allocate(bytes));
    flush_all(cache);
    blocks.push_back(allocate(bytes));
    size_t most = 0;
    for (void* block : blocks) {
      free_block(block);
      most = std::max(most, list_length(cache, id));
    }
    EXPECT_GE(most, is_slow_list ? size_t{1} : list_blocks_min) << index;
    EXPECT_LE(most, std::max(list_over_of(id), list_first_of(id))) << index;
  }
}

TEST_F(Lists, BlocksOfAllClassesAreDistinctAndKeepTheirContents) {
  struct Block {
    void* at;
    size_t bytes;
  };
  std::vector<Block> blocks;
  std::set<void*> distinct;
  test::Random random{test::seed_of("Lists.Distinct")};
  for (size_t i = 0; i < test::rounds_of(40000) + 1000; i++) {
    const size_t bytes = random.of_any_length(13);
    void* at = allocate(bytes);
    ASSERT_TRUE(distinct.insert(at).second);
    test::fill_pattern(at, bytes, i);
    blocks.push_back({at, bytes});
  }
  for (size_t i = 0; i < blocks.size(); i++) {
    ASSERT_TRUE(test::has_pattern(blocks[i].at, blocks[i].bytes, i));
    free_block(blocks[i].at);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(Lists, EmptySlabsGoBack) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; i++) blocks.push_back(allocate(256));
  const size_t most = collect_totals().slab_count;
  for (void* block : blocks) free_block(block);
  // All but the one of its class that is kept, and what the list pins.
  EXPECT_LT(collect_totals().slab_count, most / 4);
  test::quiet_totals();
  EXPECT_EQ(collect_totals().slab_count, 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST_F(Lists, AlignedBlocksAtEveryAlignment) {
  test::Random random{test::seed_of("Lists.Aligned")};
  for (size_t alignment = 16; alignment <= 4 * mib; alignment *= 2) {
    std::vector<void*> blocks;
    for (size_t bytes = 0; bytes <= 4 * mib; bytes = bytes * 3 + random.below(50)) {
      void* at = allocate_aligned(alignment, bytes);
      ASSERT_NE(at, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u) << bytes;
      ASSERT_GE(usable_size(at), bytes);
      test::fill_pattern(at, bytes, bytes + alignment);
      blocks.push_back(at);
      if (bytes == 0) bytes = 1;
    }
    for (void* at : blocks) free_block(at);
  }
  // Zero bytes take the slow way, with blocks in the list or without.
  for (const size_t alignment : {size_t{8}, block_alignment, size_t{64}}) {
    for (int round = 0; round < 3; round++) {
      void* at = allocate_aligned(alignment, 0);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
      free_block(at);
      free_block(allocate(0));
    }
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(allocate_aligned(size_t{1} << 47, 1), nullptr);
  EXPECT_EQ(allocate_aligned(4096, PTRDIFF_MAX), nullptr);
  for (size_t less = 0; less < 2 * slice_bytes; less = 2 * less + 1) {
    free_block(allocate(1));  // the lists have something to give: a size that wraps is no small one
    EXPECT_EQ(allocate_aligned(64, ~size_t{0} - less), nullptr) << less;
    EXPECT_EQ(allocate_aligned(size_t{1} << 63, less), nullptr);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
