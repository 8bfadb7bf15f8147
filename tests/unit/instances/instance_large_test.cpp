// SPDX-License-Identifier: MIT
// tests/unit/instances/instance_large: what large blocks of an instance count for, while they move,
// too.
#include <gtest/gtest.h>

#include "api/heaps.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

talus_heap* heap_with_limit(size_t bytes) {
  const talus_heap_options options = {nullptr, bytes, 0, nullptr, 0, TALUS_MODE_PROCESS};
  return api::heap_new(&options);
}

// Others may take what is left of the limit while a block is on its way, by the kernel or copied.
TEST(InstanceLarge, AMoveCountsOnce) {
  constexpr size_t limit = mib;
  talus_heap* heap = heap_with_limit(limit);
  InstanceSlot& slot = instance_slot(id_in_handle(api::handle_in(heap)));
  for (const size_t bytes : {600 * kib, 100 * kib}) {
    void* block = api::heap_malloc(heap, bytes);
    test::fill_pattern(block, bytes, 8);
    LargeBlock& from = prove_large(block, "test");
    const size_t more = bytes + 100 * kib;
    LargeMove move{from};
    ASSERT_TRUE(move.take_room(more, slot.heap->id));
    link_moving(slot, from, move.to());
    EXPECT_EQ(api::heap_stats(heap).large_bytes, more);
    EXPECT_EQ(api::heap_stats(heap).live_blocks, 1u);
    void* other = api::heap_malloc(heap, limit - more);
    EXPECT_NE(other, nullptr);
    give_moved(slot, from, move.move());
    EXPECT_EQ(api::heap_stats(heap).large_bytes, limit);
    EXPECT_EQ(api::heap_stats(heap).peak_bytes, limit);
    EXPECT_TRUE(test::has_pattern(start_of(move.to()), bytes, 8));
    api::heap_free(heap, other);
    api::heap_free(heap, start_of(move.to()));
    EXPECT_EQ(api::heap_stats(heap).large_bytes, 0u);
  }
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The child of a fork has both, and no thread that ends the move.
TEST(InstanceLarge, AMoveThatAForkCutShortCountsAsTwo) {
  constexpr size_t bytes = 600 * kib, more = 700 * kib;
  talus_heap* heap = heap_with_limit(0);
  InstanceSlot& slot = instance_slot(id_in_handle(api::handle_in(heap)));
  LargeBlock& from = prove_large(api::heap_malloc(heap, bytes), "test");
  LargeMove move{from};
  ASSERT_TRUE(move.take_room(more, slot.heap->id));
  link_moving(slot, from, move.to());
  forget_moves(slot);
  EXPECT_EQ(api::heap_stats(heap).large_bytes, bytes + more);
  EXPECT_EQ(api::heap_stats(heap).peak_bytes, bytes + more);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 2u);
  {
    Held held{space.lock()};
    space.forget_moves(held);
  }
  api::heap_clear(heap);
  EXPECT_EQ(api::heap_stats(heap).large_bytes, 0u);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A range of its own for its alignment holds a page, and stays.
TEST(InstanceLarge, ExpandsWithinAPage) {
  talus_heap* heap = heap_with_limit(0);
  void* block = api::heap_aligned_alloc(heap, slice_bytes, 100);
  const size_t usable = usable_size(block);
  EXPECT_TRUE(expand(block, usable));
  EXPECT_EQ(usable_size(block), usable);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
