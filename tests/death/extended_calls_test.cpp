// SPDX-License-Identifier: MIT
// tests/death/extended_calls: wrong pointers in batches, in calls that resize, and around blocks
// that start inside their range.
#include "faults.hpp"

#include <vector>

#include "api/extended.hpp"

namespace talus::core {
namespace {

using namespace test;

constexpr size_t batch_bytes = 48;

// With this number of blocks most go straight to their slabs, where the fault is found at once.
class Batch : public testing::Test {
 protected:
  std::vector<void*> blocks = std::vector<void*>(5000);
  Batch() {
    EXPECT_EQ(api::malloc_batch(batch_bytes, blocks.size(), blocks.data()), blocks.size());
  }
  ~Batch() override { api::free_batch(blocks.data(), blocks.size()); }
};

TEST_F(Batch, ABlockTwice) {
  std::vector<void*> wrong = blocks;
  wrong[4001] = wrong[4000];
  EXPECT_FAULT(double_free_text(wrong[4000], batch_bytes),
               { api::free_batch(wrong.data(), wrong.size()); });
}

TEST_F(Batch, APointerIntoABlock) {
  std::vector<void*> wrong = blocks;
  wrong[4000] = hide(static_cast<char*>(wrong[4000]) + 16);
  EXPECT_FAULT(interior_text(wrong[4000], blocks[4000], batch_bytes),
               { api::free_batch(wrong.data(), wrong.size()); });
}

TEST_F(Batch, APointerThatIsNoBlock) {
  std::vector<void*> wrong = blocks;
  int local = 0;
  wrong[4000] = hide(&local);
  EXPECT_FAULT(foreign_text(wrong[4000], "free"), { api::free_batch(wrong.data(), wrong.size()); });
}

TEST(ResizingCalls, NameThemselves) {
  int local = 0;
  void* foreign = hide(&local);
  EXPECT_FAULT(foreign_text(foreign, "talus_expand"), { api::expand_in_place(foreign, 10); });
  EXPECT_FAULT(foreign_text(foreign, "talus_rezalloc"), { api::rezalloc(foreign, 10); });
  EXPECT_FAULT(foreign_text(foreign, "talus_realloc_no_preserve"),
               { api::realloc_no_preserve(foreign, 10); });
  EXPECT_FAULT(foreign_text(foreign, "talus_aligned_realloc"),
               { api::aligned_realloc(foreign, 64, 10); });
}

// The block's start counts, not the start of its range.
TEST(StartInsideARange, OtherAddressesAreNoBlock) {
  char* block = static_cast<char*>(api::memalign_at(4096, 48, 300 * kib));
  const size_t front = reinterpret_cast<uintptr_t>(block) % slice_bytes;
  ASSERT_NE(front, 0u);
  void* range = hide(block - front);
  EXPECT_FAULT(foreign_text(range, "free"), { api::free(range); });
  EXPECT_FAULT(foreign_text(range, "realloc"),
               { api::realloc(range, front + usable_size(block)); });
  void* inside = hide(block + 16);
  EXPECT_FAULT(interior_text(inside, block, usable_size(block)), { api::free(inside); });
  api::free(block);
}

}  // namespace
}  // namespace talus::core
