// SPDX-License-Identifier: MIT
// fuzz/provider: memory for heaps of one's own, by each way that talus_provider has.
//
// Owns: the buffer or the callbacks' range of one heap, with guards around the one and a mark for
// each page of the other: what is committed, purged and released must have been what it is. The
// callbacks refuse now and then.
// Called on: the callbacks by the library, on any thread; the rest by the thread that makes and
// ends the heap.
#ifndef TALUS_TESTS_FUZZ_PROVIDER_HPP
#define TALUS_TESTS_FUZZ_PROVIDER_HPP

#include "talus/talus.h"
#include "thread.hpp"

namespace fuzz {

// A buffer of the caller's in a mapping, or in a block of malloc's, which may become another heap's
// while it is used. There are guards before and behind it.
struct Buffer {
  uint8_t* memory = nullptr;
  size_t memory_bytes = 0;
  size_t block_bytes = 0;  // usable ones of the block; 0: it is a mapping
  uint8_t* start = nullptr;
  size_t bytes = 0;

  bool make(size_t wanted_bytes);
  // No call wrote beside it; then it is gone.
  void check_and_end();
};

// What callbacks gave; the context of theirs.
struct CalledRange {
  uint8_t* base = nullptr;
  size_t bytes = 0;
  uint8_t* committed = nullptr;  // a byte for each page
  bool is_released = false;
  bool may_refuse = false;
  bool commits = false;  // else all of it can be used from the start
  uint64_t random = 0;

  // Draws which of the calls there are.
  talus_provider_calls draw_calls();
};

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_PROVIDER_HPP
