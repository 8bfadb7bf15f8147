// SPDX-License-Identifier: MIT
// tests/death/sampled_blocks: what is wrong with a block that the heap profile sampled is said as
// of any other.
#include "faults.hpp"
#include "heap/sample_areas.hpp"
#include "paths/resize.hpp"

namespace talus::core {
namespace {

using namespace test;

class SampledBlocks : public testing::Test {
 protected:
  void SetUp() override {
    own_cache();
    sample_areas::prepare();
    block_ = static_cast<char*>(sample_areas::allocate(class_of(500), block_alignment));
    bytes_ = usable_size(block_);
    free_block(sample_areas::allocate(class_of(64), block_alignment));
  }
  void TearDown() override { free_block(block_); }

  char* block_ = nullptr;
  size_t bytes_ = 0;
};

TEST_F(SampledBlocks, FreedTwice) {
  EXPECT_FAULT(double_free_text(block_, bytes_), {
    free_block(hide(block_));
    free_block(hide(block_));
  });
}
TEST_F(SampledBlocks, ResizedAfterTheFree) {
  const std::string text = "talus: use of the freed block " + hex(block_) +
                           " in realloc() (a free block of " + std::to_string(bytes_) + " bytes)\n";
  EXPECT_FAULT(text, {
    free_block(hide(block_));
    reallocate(hide(block_), 600);
  });
}
TEST_F(SampledBlocks, APointerIntoOne) {
  char* const inside = block_ + 16;
  EXPECT_FAULT(interior_text(inside, block_, bytes_), free_block(hide(inside)));
}
TEST_F(SampledBlocks, APointerBehindAll) {
  char* const behind = block_ + 16 * kib;
  EXPECT_FAULT(foreign_text(behind, "free"), free_block(hide(behind)));
}

}  // namespace
}  // namespace talus::core
