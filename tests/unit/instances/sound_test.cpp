// SPDX-License-Identifier: MIT
// tests/unit/instances/sound: each counter of an instance, a region, a bounded pool and the pools
// of descriptors has an equation that notices one wrong step of it.
#include "heap/sound.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "api/heaps.hpp"
#include "bounded/bounded_test.hpp"
#include "quiet.hpp"
#include "regions/region_sound.hpp"

namespace talus::core {
namespace {

using Check = std::function<bool()>;

// The number is off by some, either way.
template <typename Number>
void expect_counted(const char* what, const Check& is_sound, Number& number, Number step) {
  ASSERT_TRUE(is_sound()) << what;
  number = static_cast<Number>(number + step);
  EXPECT_FALSE(is_sound()) << what << ", too much";
  number = static_cast<Number>(number - 2 * step);
  EXPECT_FALSE(is_sound()) << what << ", too little";
  number = static_cast<Number>(number + step);
  ASSERT_TRUE(is_sound()) << what;
}
template <typename Value>
void expect_noticed(const char* what, const Check& is_sound, Value& place, Value wrong) {
  const Value right = place;
  ASSERT_TRUE(is_sound()) << what;
  place = wrong;
  EXPECT_FALSE(is_sound()) << what;
  place = right;
  ASSERT_TRUE(is_sound()) << what;
}

TEST(SoundInstance, EachCounterHasItsEquation) {
  talus_heap* made = api::heap_new(nullptr);
  Instance& heap = *instance_slot(id_in_handle(api::handle_in(made))).heap;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 2000; i++) blocks.push_back(api::heap_malloc(made, 16 + i % 5 * 100));
  for (const size_t bytes : {300 * kib, 700 * kib}) {
    blocks.push_back(api::heap_malloc(made, bytes));
  }
  const Check is_sound = [&heap] { return heap.is_sound(); };
  const size_t index = index_of(class_of(16));
  expect_counted("large_count", is_sound, heap.large_count, size_t{1});
  expect_counted("large_bytes", is_sound, heap.large_bytes, size_t{4096});
  expect_counted("class_slabs", is_sound, heap.class_slabs[index], uint32_t{1});
  expect_noticed("peak_bytes", is_sound, heap.peak_bytes, heap.footprint_bytes() - 1);
  expect_noticed("used_classes", is_sound, heap.used_classes[0], uint64_t{0});
  expect_noticed("ready", is_sound, heap.ready[index].count, ready_blocks_max + 1);
  expect_noticed("a large block", is_sound, heap.large_blocks, heap.large_blocks->next_inside);
  expect_noticed("its end", is_sound, heap.large_blocks->usable_bytes,
                 heap.large_blocks->slices * slice_bytes + 1);
  ASSERT_NE(heap.full.first, nullptr);
  expect_noticed("mode", is_sound, heap.mode, InstanceMode::checked);
  expect_noticed("an exact slab", is_sound, heap.full.first->least_bytes, UINT32_MAX);
  expect_noticed("a full slab", is_sound, heap.full.first->state, SlabState::available);
  const uintptr_t base = heap.full.first->base;
  page_map.set(base, PageEntry{}, nullptr);
  EXPECT_FALSE(is_sound()) << "the page map";
  page_map.set(base, PageEntry{heap.id, list_tag(heap.full.first->class_id)}, heap.full.first);
  EXPECT_TRUE(is_sound());
  for (void* block : blocks) api::heap_free(made, block);
  EXPECT_TRUE(is_sound());
  EXPECT_TRUE(is_sound_at_rest());
  api::heap_destroy(made);
  EXPECT_TRUE(is_sound_at_rest());
}

TEST(SoundInstance, TheTableOfSlots) {
  talus_heap* made = api::heap_new(nullptr);
  talus_heap* gone = api::heap_new(nullptr);
  api::heap_destroy(gone);
  const Check is_sound = [] { return instance_table.is_sound(); };
  ASSERT_TRUE(is_sound());
  instance_table.shared_live_count.own_add(~uint32_t{0});
  EXPECT_FALSE(is_sound()) << "shared_live_count";
  instance_table.shared_live_count.own_add(1);
  expect_noticed("a slot with a life is unused", is_sound, instance_table.unused,
                 static_cast<uint32_t>(index_of(id_in_handle(api::handle_in(made)))));
  api::heap_destroy(made);
}

TEST(SoundRegion, EachCounterHasItsEquation) {
  talus_heap_options options = {};
  talus_provider provider = {};
  provider.kind = TALUS_PROVIDER_OS;
  provider.bytes = 16 * mib;
  options.provider = &provider;
  talus_heap* made = api::heap_new(&options);
  ASSERT_NE(made, nullptr);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 300; i++) blocks.push_back(api::heap_malloc(made, 1 + i * 37 % 5000));
  for (size_t i = 0; i < blocks.size(); i += 3) api::heap_free(made, blocks[i]);
  RegionHeap& region = *instance_slot(id_in_handle(api::handle_in(made))).region;
  const Check is_sound = [&region] { return region.is_sound(); };
  expect_counted("live_units", is_sound, region.live_units, size_t{1});
  expect_counted("live_count", is_sound, region.live_count, size_t{1});
  expect_counted("spare_slices", is_sound, region.spare_slices, size_t{1});
  expect_counted("committed_bytes", is_sound, region.committed_bytes, slice_bytes);
  expect_counted("taken_units", is_sound, region.slices[0].taken_units, uint16_t{1});
  expect_noticed("shortfall", is_sound, region.slices[0].shortfall,
                 static_cast<uint16_t>(slice_units));
  expect_noticed("lowest_open", is_sound, region.lowest_open, region.used_slices);
  expect_noticed("used_slices", is_sound, region.used_slices, size_t{0});
  api::heap_destroy(made);
}

TEST(SoundPools, UnusedDescriptorsAreUnused) {
  void* large = allocate(10 * slice_bytes);
  free_block(large);
  purge_beyond(0);
  ASSERT_NE(large_pool.unused, nullptr);
  large_pool.unused->state.store_own(LargeState::kept);
  EXPECT_FALSE(large_pool.is_sound());
  large_pool.unused->state.store_own(LargeState::unused);
  EXPECT_TRUE(large_pool.is_sound());
  for (Slab* slab : descriptor_pool.unused) {
    if (slab == nullptr) continue;
    expect_noticed(
        "slab", [] { return descriptor_pool.is_sound(); }, slab->state, SlabState::full);
  }
#if TALUS_AUDIT
  expect_noticed(
      "a lost one", [] { return large_pool.is_sound(); }, large_pool.unused,
      static_cast<LargeBlock*>(nullptr));
#endif
}

TEST(SoundRegistry, CachesAreThreads) {
  test::own_cache();
  const Check is_sound = [] { return registry.is_sound(); };
  expect_counted("cache_count", is_sound, registry.cache_count, size_t{1});
  expect_noticed("caches", is_sound, registry.caches, static_cast<ThreadCache*>(nullptr));
  Heap& heap = *registry.caches->heap;
  heap.shared_thread_count.own_add(1);
  EXPECT_FALSE(is_sound());
  heap.shared_thread_count.own_add(~uint32_t{0});
  EXPECT_TRUE(is_sound());
  EXPECT_TRUE(is_told_sound());
  expect_noticed(
      "told", [] { return is_told_sound(); }, heap.told_free_bytes, heap.told_free_bytes + 1);
}

class SoundBounded : public test::BoundedTest {};

TEST_F(SoundBounded, PoolsListsAndOrphans) {
  instance = make(2, 64 * kib);
  const size_t capacities[] = {64, 64};
  ASSERT_NE(cache(capacities), nullptr);
  std::vector<void*> blocks;
  for (int i = 0; i < 300; i++) blocks.push_back(take(16));
  for (size_t i = 0; i < blocks.size(); i += 2) give(blocks[i]);
  Bounded& bounded = *bounded_registry.instances[0];
  Pool& pool = bounded.pools[0];
  ASSERT_NE(pool.returned_count, 0u);
  const Check is_sound = [&pool] { return pool.is_sound() && pool.returned.is_sound(); };
  expect_noticed("fresh_count", is_sound, pool.fresh_count, pool.block_count + 1);
  expect_noticed("peak_count", is_sound, pool.peak_count, size_t{0});
  EXPECT_EQ(pool.returned.count(), pool.returned_count);
  BoundedList& list = bounded_cache_of(bounded).lists[0];
  ASSERT_NE(list.length(), 0u);
  EXPECT_TRUE(list.is_sound(pool));
  expect_noticed(
      "a block", [&] { return list.is_sound(pool); }, list.bottom[0], static_cast<void*>(&pool));
  EXPECT_TRUE(bounded.is_sound());
  bounded.shared_orphan_count.own_add(1);
  EXPECT_FALSE(bounded.is_sound());
  bounded.shared_orphan_count.own_add(~uint32_t{0});
  EXPECT_TRUE(bounded.is_sound());
  for (size_t i = 1; i < blocks.size(); i += 2) give(blocks[i]);
}

}  // namespace
}  // namespace talus::core
