// SPDX-License-Identifier: MIT
// tests/unit/modes/each_way: blocks that are made, resized and freed in each way, at random.
//
// Owns: the blocks that are kept, until its end. Each has contents, zeros and the alignment that it
// must have. Called on: a test's main thread.
#ifndef TALUS_TESTS_UNIT_MODES_EACH_WAY_HPP
#define TALUS_TESTS_UNIT_MODES_EACH_WAY_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "paths/aligned_at.hpp"
#include "sides_fixture.hpp"

namespace talus::core::test {

class BlocksOfEachWay {
 public:
  // Blocks of up to 2^size_bits bytes, at multiples below 16 * 2^alignment_bits, and how many live.
  BlocksOfEachWay(unsigned size_bits, size_t alignment_bits, size_t live_most)
      : size_bits_{size_bits}, alignment_bits_{alignment_bits}, live_most_{live_most} {}
  ~BlocksOfEachWay() {
    for (const Kept& one : kept_) free_block(one.at);
  }

  // Makes one block a round. Calls look(block) for each.
  template <typename Look>
  void run(size_t rounds, Look look) {
    for (size_t round = 0; round < rounds; round++) {
      const size_t bytes = 1 + random_.of_any_length(size_bits_);
      unsigned char* at = nullptr;
      make_one(bytes, at);
      if (testing::Test::HasFatalFailure()) return;
      look(at);
      ASSERT_GE(facts_of(at, "test").usable_bytes, bytes);
      const auto byte = static_cast<unsigned char>(round);
      std::memset(at, byte, bytes);
      kept_.push_back({at, bytes, byte});
      if (kept_.size() < live_most_) continue;
      const size_t chosen = random_.below(kept_.size());
      const Kept gone = kept_[chosen];
      kept_[chosen] = kept_.back();
      kept_.pop_back();
      for (size_t i = 0; i < gone.bytes; i += 61) ASSERT_EQ(gone.at[i], gone.byte);
      free_block(gone.at);
    }
  }

 private:
  struct Kept {
    unsigned char* at;
    size_t bytes;
    unsigned char byte;
  };

  static bool is_filled(const unsigned char* at, size_t bytes, unsigned char byte) {
    return std::all_of(at, at + bytes, [byte](unsigned char one) { return one == byte; });
  }
  void make_one(size_t bytes, unsigned char*& at) {
    switch (random_.below(4)) {
      case 0:
        at = static_cast<unsigned char*>(make(bytes));
        break;
      case 1:
        at = static_cast<unsigned char*>(allocate_zeroed(bytes));
        ASSERT_TRUE(is_filled(at, bytes, 0)) << bytes;
        break;
      case 2: {
        const size_t alignment = size_t{16} << random_.below(alignment_bits_);
        at = static_cast<unsigned char*>(allocate_aligned(alignment, bytes));
        ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
        break;
      }
      default: {
        const size_t more = 1 + random_.of_any_length(size_bits_);
        at = static_cast<unsigned char*>(make(more));
        std::memset(at, 7, more);
        at = static_cast<unsigned char*>(reallocate(at, bytes));
        ASSERT_TRUE(is_filled(at, std::min(more, bytes), 7));
      }
    }
  }

  Random random_{seed_of("Ways")};
  std::vector<Kept> kept_;
  unsigned size_bits_;
  size_t alignment_bits_, live_most_;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_MODES_EACH_WAY_HPP
