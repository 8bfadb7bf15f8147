// SPDX-License-Identifier: MIT
// tests/death/small_blocks: small blocks that their own thread frees wrongly.
//
// Owns: nothing. free finds at once what it checks before it pushes (tests/misuse has all
// variants). It finds the rest when the list goes back to its slab, which the tests force or wait
// for.
#include <unistd.h>

#include <vector>

#include "faults.hpp"
#include "paths/batch.hpp"

namespace talus::core {
namespace {

using namespace test;

constexpr size_t bytes = 48;

// Two blocks, so that the slab does not empty and vanish when one of them is freed.
class SmallBlock : public testing::Test {
 protected:
  ThreadCache& cache = own_cache();
  void* other = api::malloc(bytes);
  void* block = api::malloc(bytes);
  ~SmallBlock() override {
    api::free(block);
    api::free(other);
  }
};

TEST_F(SmallBlock, FreedTwiceInARowIsFoundAtOnce) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    api::free(block);
    api::free(block);
  });
}

// Of blocks above 16 KiB free compares the address with 2 KiB alone.
TEST(MediumBlock, PointerIntoItAtAStep) {
  for (const size_t wanted : {20 * kib, 40 * kib, 256 * kib}) {
    void* other = api::malloc(wanted);
    void* block = api::malloc(wanted);
    void* inside = hide(static_cast<char*>(block) + start_step_bytes);
    EXPECT_FAULT(interior_text(inside, block, usable_size(block)), {
      api::free(other);  // the list has room
      api::free(api::malloc(wanted));
      api::free(inside);
      flush_all(own_cache());
    });
    api::free(block);
    api::free(other);
  }
}

TEST_F(SmallBlock, FreedTwiceInABatchIsFoundAtOnce) {
  void* blocks[] = {block, other, block};
  EXPECT_FAULT(double_free_text(block, bytes), free_many(blocks, 3));
}

// The lists of blocks above 4 KiB are used in slow paths, which look at the uppermost block.
TEST(GuardedBlock, FreedTwiceInARowIsFoundAtOnce) {
  for (const size_t wanted : {size_t{5000}, 40 * kib, 256 * kib}) {
    void* other = api::malloc(wanted);
    void* block = api::malloc(wanted);
    EXPECT_FAULT(double_free_text(block, usable_size(block)), {
      api::free(block);
      api::free(block);
    });
    api::free(block);
    api::free(other);
  }
}

TEST_F(SmallBlock, FreedAgainWithAnotherBetween) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    api::free(block);
    api::free(other);
    api::free(block);
  });
}

// With two others between, so that the second free only pushes it.
void free_twice_unnoticed(void* block) {
  void* first = api::malloc(bytes);
  void* second = api::malloc(bytes);
  api::free(block);
  api::free(first);
  api::free(second);
  api::free(block);
}

TEST_F(SmallBlock, FreedTwiceInOneList) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    free_twice_unnoticed(block);
    flush_all(cache);
  });
}

TEST_F(SmallBlock, FreedAgainWhenItIsBackInItsSlab) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    api::free(block);
    flush_all(cache);
    api::free(block);
    flush_all(cache);
  });
}

// No call asks for the flush: a program that continues to free reaches it.
TEST_F(SmallBlock, FreedTwiceIsFoundWhenTheListIsFull) {
  std::vector<void*> blocks;
  for (int i = 0; i < 4000; i++) blocks.push_back(api::malloc(bytes));
  EXPECT_FAULT(double_free_text(block, bytes), {
    free_twice_unnoticed(block);
    for (void* each : blocks) api::free(each);
  });
  for (void* each : blocks) api::free(each);
}

// Takes the lock that is held where the fault is found.
void take_many_blocks(int) {
  for (int i = 0; i < 4000; i++) hide(api::malloc(bytes));
}

TEST_F(SmallBlock, AHandlerThatNeedsTheHeapDoesNotKeepTheProcess) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    signal(SIGABRT, take_many_blocks);
    alarm(3 * os::report_patience_ms / 1000);
    free_twice_unnoticed(block);
    flush_all(cache);
  });
}

TEST_F(SmallBlock, FreedTwiceIsFoundWhenTheThreadEnds) {
  void* freed = nullptr;
  EXPECT_EXIT(
      {
        leave_no_core_file();
        on_another_thread([&] {
          freed = api::malloc(bytes);
          free_twice_unnoticed(freed);
        });
      },
      testing::KilledBySignal(SIGABRT),
      testing::ContainsRegex("^talus: double free of 0x[0-9a-f]+ \\(a free block of 48 bytes\\)"));
}

TEST_F(SmallBlock, PointerIntoIt) {
  void* inside = hide(static_cast<char*>(block) + 16);
  EXPECT_FAULT(interior_text(inside, block, bytes), {
    api::free(inside);
    flush_all(cache);
  });
}

TEST_F(SmallBlock, MisalignedPointerIntoIt) {
  void* inside = hide(static_cast<char*>(block) + 1);
  EXPECT_FAULT(interior_text(inside, block, bytes), {
    api::free(inside);
    flush_all(cache);
  });
}

// The few bytes behind a slab's last block belong to no block.
TEST_F(SmallBlock, PointerBehindTheLastBlockOfASlab) {
  const Slab& slab = slab_of(cache.id, block);
  const size_t used = slab.block_count * size_t{slab.block_bytes};
  const size_t room = size_class_row(slab.class_id).slab_slices * slice_bytes;
  ASSERT_LT(used, room) << "choose a size that leaves a rest";
  void* behind = reinterpret_cast<void*>(slab.base + used);
  EXPECT_FAULT(foreign_text(behind, "free"), {
    api::free(behind);
    flush_all(cache);
  });
}

TEST_F(SmallBlock, FreedAgainWhenItsSlabIsGone) {
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::free(block);
    api::free(other);
    purge_beyond(0);
    ASSERT_TRUE(page_map.word_of(reinterpret_cast<uintptr_t>(block)).has_no_owner());
    api::free(block);
  });
}

TEST_F(SmallBlock, NullAndLiveBlocksAreFine) {
  api::free(nullptr);
  void* moved = api::realloc(api::malloc(10), 20000);
  ASSERT_NE(moved, nullptr);
  api::free(moved);
  flush_all(cache);
}

}  // namespace
}  // namespace talus::core
