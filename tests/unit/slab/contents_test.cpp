// SPDX-License-Identifier: MIT
// tests/unit/slab/contents: trailers and zeros, for each size of a small block and each byte of it.
#include <gtest/gtest.h>

#include <string.h>

#include "slab/contents.hpp"

namespace talus::core {
namespace {

constexpr size_t most = 640;

class Contents : public testing::Test {
 protected:
  Contents() {
    contents_secret.words[0] = 0x123456789abcdef0;
    contents_secret.words[1] = 0xfedcba9876543211;
  }
  ~Contents() override { contents_secret = ContentsSecret{}; }
  // Bytes around the block are not the block's.
  void surround() { memset(room_, 0x77, sizeof room_); }
  bool is_surrounded(size_t block_bytes) const {
    for (size_t i = 0; i < 64; i++) {
      if (room_[i] != 0x77 || room_[64 + block_bytes + i] != 0x77) return false;
    }
    return true;
  }
  bool is_whole(size_t block_bytes, size_t bytes) const {
    const bool answer = Trailer::read(block_, block_bytes) == bytes &&
                        Trailer::is_canary_whole(block_, block_bytes, bytes);
    // The short way knows few canary bytes.
    const bool is_brief = block_bytes - bytes - trailer_bytes < 16;
    const bool short_answer = Trailer::is_whole_here(block_, block_bytes, Trailer::mix(block_));
    EXPECT_EQ(short_answer, answer && is_brief) << bytes << " of " << block_bytes;
    return answer;
  }

  alignas(64) unsigned char room_[most + 128];
  unsigned char* block_ = room_ + 64;
};

TEST_F(Contents, EachByteThatIsNotZeroIsFound) {
  for (size_t bytes = 16; bytes <= most; bytes += 16) {
    surround();
    clear_block(block_, bytes);
    ASSERT_TRUE(is_surrounded(bytes)) << bytes;
    ASSERT_TRUE(is_zero(block_, bytes)) << bytes;
    ASSERT_EQ(first_not_zero(block_, bytes), bytes);
    for (size_t i = 0; i < bytes; i++) {
      block_[i] = 1;
      ASSERT_FALSE(is_zero(block_, bytes)) << i << " of " << bytes;
      ASSERT_EQ(first_not_zero(block_, bytes), i);
      block_[i] = 0;
    }
  }
}

TEST_F(Contents, EachChangedByteBehindTheDataIsFound) {
  for (const size_t block_bytes : {16u, 32u, 48u, 80u, 512u}) {
    for (size_t bytes = 0; bytes + trailer_bytes <= block_bytes; bytes++) {
      surround();
      clear_block(block_, block_bytes);
      Trailer::write(block_, block_bytes, bytes);
      ASSERT_TRUE(is_surrounded(block_bytes));
      ASSERT_TRUE(is_whole(block_bytes, bytes)) << bytes << " of " << block_bytes;
      for (size_t i = 0; i < bytes; i++) ASSERT_EQ(block_[i], 0) << "the data read as zero";
      memset(block_, 0xff, bytes);
      ASSERT_TRUE(is_whole(block_bytes, bytes)) << "the data are the program's";
      size_t end = bytes + canary_bytes_max;
      if (end > block_bytes - trailer_bytes) end = block_bytes - trailer_bytes;
      for (size_t i = bytes; i < block_bytes; i++) {
        if (i >= end && i < block_bytes - trailer_bytes) continue;  // too far behind the data
        for (const int change : {0x01, 0x80, 0xff}) {
          const unsigned char before = block_[i];
          block_[i] = static_cast<unsigned char>(before ^ change);
          ASSERT_FALSE(is_whole(block_bytes, bytes)) << i << " of " << block_bytes;
          block_[i] = before;
        }
      }
    }
  }
}

TEST_F(Contents, NoTrailerServesAnotherBlockOrSize) {
  Trailer::write(block_, 64, 40);
  EXPECT_EQ(Trailer::read(block_, 64), 40u);
  memcpy(block_ + 128 - trailer_bytes, block_ + 64 - trailer_bytes, trailer_bytes);
  EXPECT_EQ(Trailer::read(block_ + 64, 64), 64u) << "another address";
  EXPECT_GE(block_[64 - trailer_bytes], 0x80) << "no byte of a text";
}

}  // namespace
}  // namespace talus::core
