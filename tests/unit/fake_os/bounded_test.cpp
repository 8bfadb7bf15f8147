// SPDX-License-Identifier: MIT
// tests/unit/fake_os/bounded: bounded instances on a kernel that refuses. What cannot begin leaves
// nothing behind, and nothing is wrong when the kernel is well again.
#include <gtest/gtest.h>

#include "api/bounded.hpp"
#include "effort.hpp"
#include "fake_os/sequence.hpp"

namespace talus::core {
namespace {

// An instance with a cache, from beginning to end. Returns how many calls were refused.
size_t run_bounded() {
  size_t refused = 0;
  const size_t budgets[] = {100000, 0, 300000, 5000, 70000};
  const talus_bounded_options options{5, 0, budgets, nullptr, 0};
  for (int life = 0; life < 2; life++) {
    talus_bounded* instance = api::bounded_new(&options);
    refused += instance == nullptr;
    if (instance == nullptr) continue;
    refused += api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_WARM) == nullptr;
    void* blocks[300];
    for (size_t i = 0; i < 300; i++) {
      const size_t bytes = i % 50 == 0 ? 100 * kib : 1 + i % 100;
      blocks[i] = api::bounded_malloc(instance, bytes);
      refused += blocks[i] == nullptr;
      if (blocks[i] != nullptr) test::fill_pattern(blocks[i], bytes, i);
    }
    for (size_t i = 0; i < 300; i++) {
      const size_t bytes = i % 50 == 0 ? 100 * kib : 1 + i % 100;
      if (blocks[i] == nullptr) continue;
      test::require(test::has_pattern(blocks[i], bytes, i), "contents", i);
      api::bounded_free(instance, blocks[i]);
    }
    test::require(api::bounded_stats(instance, SIZE_MAX).live_blocks == 0, "live", refused);
    api::bounded_destroy(instance);
  }
  return refused;
}

TEST(BoundedOnABadKernel, LeavesNoMemoryWhereAddressesStay) {
  const std::string wrong = test::run_in_child([] {
    const size_t budgets[] = {100000, 100000, 100000, 100000, 100000};
    const talus_bounded_options options{5, 0, budgets, nullptr, 0};
    talus_bounded* instance = api::bounded_new(&options);
    void* block = api::bounded_malloc(instance, 80);
    test::fill_pattern(block, 80, 1);
    test::require(test::is_resident(block), "a block in use");
    test::refuse_unmaps();
    api::bounded_destroy(instance);
    test::require(!test::is_resident(block), "memory of an instance that is gone");
  });
  EXPECT_EQ(wrong, "");
}

TEST(BoundedOnABadKernel, EveryCallIsRefusedOnce) { test::refuse_each_call_once(run_bounded); }

}  // namespace
}  // namespace talus::core
