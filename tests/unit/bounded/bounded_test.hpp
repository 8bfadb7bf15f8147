// SPDX-License-Identifier: MIT
// tests/unit/bounded/bounded_test: an instance for a test, and a fallback that can be watched.
#ifndef TALUS_TESTS_UNIT_BOUNDED_BOUNDED_TEST_HPP
#define TALUS_TESTS_UNIT_BOUNDED_BOUNDED_TEST_HPP

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <set>
#include <thread>
#include <vector>

#include "api/bounded.hpp"
#include "entry/life.hpp"

namespace talus::core::test {

// Blocks of the C library, which is another allocator here, and their sizes.
struct WatchedFallback {
  std::map<const void*, size_t> live;
  size_t allocs = 0, frees = 0, reallocs = 0;
  bool is_empty = false;

  static WatchedFallback& of(void* context) { return *static_cast<WatchedFallback*>(context); }
  static void* alloc(void* context, size_t bytes, size_t alignment) {
    WatchedFallback& self = of(context);
    self.allocs++;
    errno = EIO;
    if (self.is_empty) return nullptr;
    void* block = ::aligned_alloc(alignment, round_up(bytes == 0 ? 1 : bytes, alignment));
    self.live[block] = bytes;
    return block;
  }
  static void free(void* context, void* pointer) {
    WatchedFallback& self = of(context);
    self.frees++;
    errno = EIO;
    EXPECT_EQ(self.live.erase(pointer), 1u);
    ::free(pointer);
  }
  static void* realloc(void* context, void* pointer, size_t bytes, size_t alignment) {
    WatchedFallback& self = of(context);
    self.reallocs++;
    errno = EIO;
    if (self.is_empty) return nullptr;
    void* block = ::aligned_alloc(alignment, round_up(bytes, alignment));
    const size_t old_bytes = self.live.at(pointer);
    memcpy(block, pointer, old_bytes < bytes ? old_bytes : bytes);
    self.live.erase(pointer);
    ::free(pointer);
    self.live[block] = bytes;
    return block;
  }
  static size_t usable_size(void* context, const void* pointer) {
    errno = EIO;
    return of(context).live.at(pointer);
  }
  talus_bounded_fallback context() { return {alloc, free, realloc, usable_size, this}; }
};

class BoundedTest : public testing::Test {
 protected:
  WatchedFallback fallback;
  talus_bounded* instance = nullptr;

  talus_bounded* make(size_t pools, size_t budget_bytes) {
    const talus_bounded_fallback context = fallback.context();
    const talus_bounded_options options{pools, budget_bytes, nullptr, &context, 0};
    return api::bounded_new(&options);
  }
  void TearDown() override {
    api::bounded_destroy(instance);
    EXPECT_EQ(fallback.live.size(), 0u);
  }
  void* take(size_t bytes) { return api::bounded_malloc(instance, bytes); }
  void give(void* block) { api::bounded_free(instance, block); }
  talus_bounded_numbers stats(size_t pool) { return api::bounded_stats(instance, pool); }
  talus_bounded_numbers sums() { return api::bounded_stats(instance, SIZE_MAX); }
  talus_bounded_cache* cache(const size_t* capacities,
                             talus_bounded_start start = TALUS_BOUNDED_COLD) {
    return api::bounded_cache_new(instance, capacities, start);
  }
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_BOUNDED_BOUNDED_TEST_HPP
