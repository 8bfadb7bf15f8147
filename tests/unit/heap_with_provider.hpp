// SPDX-License-Identifier: MIT
// tests/unit/heap_with_provider: a heap of one's own with a provider, and what it must do.
#ifndef TALUS_TESTS_UNIT_HEAP_WITH_PROVIDER_HPP
#define TALUS_TESTS_UNIT_HEAP_WITH_PROVIDER_HPP

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "api/heaps.hpp"
#include "pattern.hpp"

namespace talus::core::test {

inline talus_provider request_for(talus_provider_kind kind, size_t bytes, unsigned flags = 0) {
  talus_provider request{};
  request.kind = kind;
  request.bytes = bytes;
  request.flags = flags;
  if (kind == TALUS_PROVIDER_FILE) request.directory = "/tmp";
  return request;
}
inline talus_heap* heap_on(const talus_provider& request, size_t limit_bytes = 0) {
  talus_heap_options options{};
  options.name = "provided";
  options.limit_bytes = limit_bytes;
  options.provider = &request;
  return api::heap_new(&options);
}

// Resizes and frees blocks {block: bytes} of a heap, some on another thread. Counts those
// that could be resized.
inline void resize_and_free(talus_heap* heap, std::map<void*, size_t>& blocks,
                            size_t& resized_count) {
  resized_count = 0;
  for (auto& [block, bytes] : blocks) {
    ASSERT_TRUE(test::has_pattern(block, bytes, bytes));
    void* resized = api::realloc(block, bytes + 40);
    if (resized != nullptr) {
      resized_count++;
      ASSERT_EQ(api::heap_of(resized), heap) << "it stays where it is";
      ASSERT_TRUE(test::has_pattern(resized, bytes, bytes));
    }
    void* last = resized != nullptr ? resized : block;
    if (bytes % 2 == 0) {
      api::free(last);
    } else {
      std::thread([last] { api::free(last); }).join();
    }
  }
}

// Fills a heap with blocks of many sizes, resizes and frees some, and looks at each of them.
inline void use_heap(talus_heap* heap, uintptr_t from, uintptr_t to) {
  constexpr size_t sizes[] = {1, 16, 100, 1000, 3000, 9000, 20000};
  std::map<void*, size_t> blocks;
  for (size_t i = 0; i < 60; i++) {
    const size_t bytes = sizes[i % 7];
    void* block = i % 3 == 0   ? api::heap_malloc(heap, bytes)
                  : i % 3 == 1 ? api::heap_calloc(heap, 1, bytes)
                               : api::heap_aligned_alloc(heap, 64, bytes);
    if (block == nullptr) continue;
    const uintptr_t at = reinterpret_cast<uintptr_t>(block);
    ASSERT_TRUE(at >= from && at + bytes <= to);
    ASSERT_TRUE(i % 3 != 2 || at % 64 == 0);
    ASSERT_TRUE(i % 3 != 1 || test::is_zero(block, bytes));
    ASSERT_EQ(api::heap_of(block), heap);
    ASSERT_EQ(api::heap_contains(heap, block), 1);
    ASSERT_EQ(api::heap_contains(heap, static_cast<char*>(block) + 1), 0);
    ASSERT_GE(usable_size(block), bytes);
    blocks[block] = bytes;
    test::fill_pattern(block, bytes, bytes);
  }
  ASSERT_GT(blocks.size(), 20u);
  size_t bytes_seen = 0, blocks_seen = 0, resized_count = 0;
  const auto note = [&](const talus_heap_area& area, void* block) {
    if (block == nullptr) return;
    EXPECT_EQ(area.block_bytes, usable_size(block));
    EXPECT_EQ(blocks.count(block), 1u);
    bytes_seen += area.block_bytes;
    blocks_seen++;
  };
  api::heap_walk(
      heap,
      [](const talus_heap_area* area, void* block, void* context) {
        (*static_cast<decltype(note)*>(context))(*area, block);
        return 0;
      },
      const_cast<void*>(static_cast<const void*>(&note)));
  EXPECT_EQ(blocks_seen, blocks.size());
  EXPECT_EQ(api::heap_stats(heap).live_blocks, blocks.size());
  EXPECT_EQ(api::heap_stats(heap).live_bytes, bytes_seen);
  ASSERT_NO_FATAL_FAILURE(resize_and_free(heap, blocks, resized_count));
  EXPECT_GT(resized_count, 10u);
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 0u);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_malloc(heap, 5000);
  api::heap_clear(heap);
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 0u);
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_HEAP_WITH_PROVIDER_HPP
