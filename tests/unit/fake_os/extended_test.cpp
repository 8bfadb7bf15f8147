// SPDX-License-Identifier: MIT
// tests/unit/fake_os/extended: batches, aligned places, zeroed resizing on a kernel that refuses.
// Answers may be null; nothing is lost, and nothing is wrong when the kernel is well again.
#include <gtest/gtest.h>

#include "api/extended.hpp"
#include "effort.hpp"
#include "fake_os/sequence.hpp"

namespace talus::core {
namespace {

// One of each call whose way to the kernel differs; what comes is used and freed. Returns how many
// were refused.
size_t run_extended() {
  size_t refused = 0;
  void* blocks[600];
  for (const size_t bytes : {size_t{100}, size_t{9000}, 200 * kib}) {
    const size_t count = bytes > small_bytes_max ? 20 : 600;
    const size_t made = api::malloc_batch(bytes, count, blocks);
    refused += made != count;
    for (size_t i = 0; i < made; i++) {
      test::require(blocks[i] != nullptr && usable_size(blocks[i]) >= bytes, "a batch", i);
      test::fill_pattern(blocks[i], bytes, i);
    }
    for (size_t i = 0; i < made; i++) {
      test::require(test::has_pattern(blocks[i], bytes, i), "contents of a batch", i);
    }
    api::free_batch(blocks, made);
  }
  for (const size_t bytes : {size_t{100}, size_t{3000}, 100 * kib}) {
    void* block = api::memalign_at(64, 16, bytes);
    refused += block == nullptr;
    if (block == nullptr) continue;
    test::require((reinterpret_cast<uintptr_t>(block) + 16) % 64 == 0, "an aligned place", bytes);
    free_block(block);
  }
  size_t bytes = 100;
  void* block = api::rezalloc(nullptr, bytes);
  refused += block == nullptr;
  for (const size_t wanted : {500 * kib, 3 * mib, 2 * mib + 5, 9 * mib, size_t{50}}) {
    void* resized = block == nullptr ? nullptr : api::rezalloc(block, wanted);
    refused += resized == nullptr;
    if (resized == nullptr) continue;
    block = resized;
    const size_t kept = bytes < wanted ? bytes : wanted;
    const char* fresh = static_cast<char*>(block) + kept;
    test::require(test::is_zero(fresh, usable_size(block) - kept), "new bytes are zero", wanted);
    memset(block, 0xff, wanted);
    bytes = wanted;
  }
  block = api::realloc_no_preserve(block, 1 * mib);
  refused += block == nullptr;
  free_block(block);
  return refused;
}

TEST(ExtendedOnABadKernel, EveryCallIsRefusedOnce) { test::refuse_each_call_once(run_extended); }

}  // namespace
}  // namespace talus::core
