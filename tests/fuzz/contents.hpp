// SPDX-License-Identifier: MIT
// fuzz/contents: what is written into blocks, so that lost and foreign contents are noticed.
//
// Each word follows from the block's seed and its own place. A small block is written whole. Of a
// larger one the first page, a few others, which the seed decides, and the last bytes are written.
// Pages without a write stay untouched.
// Called on: the thread that holds the block's place; a signal may interrupt these loops.
#ifndef TALUS_TESTS_FUZZ_CONTENTS_HPP
#define TALUS_TESTS_FUZZ_CONTENTS_HPP

#include <stddef.h>
#include <stdint.h>

namespace fuzz {

constexpr size_t nowhere = ~size_t{0};

struct Contents {
  uint64_t seed = 0;
  size_t bytes = 0;  // that were written, or passed over

  void write(void* block) const;
  // The offset of the first byte below `bytes_max` that is not as written; nowhere: there is none.
  size_t first_lost(const void* block, size_t bytes_max) const;
  uint64_t word(size_t index) const;
};

// The first byte of [from, to) that is not zero, or nowhere; a large range is sampled.
size_t first_nonzero(const void* block, size_t from, size_t to);

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_CONTENTS_HPP
