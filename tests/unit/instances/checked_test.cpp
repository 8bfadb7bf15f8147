// SPDX-License-Identifier: MIT
// tests/unit/instances/checked: a checked heap in a process without a mode does all that a heap
// does, and knows of each block whether the program has it. tests/death has the wrong calls.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "instances/reshape.hpp"
#include "pattern.hpp"
#include "quiet.hpp"
#include "reclaim/sources.hpp"

namespace talus::core {
namespace {

constexpr size_t sizes_of_all_kinds[] = {0,    1,     16,    64,    100,    1000,
                                         5000, 20000, 32768, 32769, 100000, 3 * mib};

talus_heap* make_checked(size_t limit_bytes = 0) {
  talus_heap_options options = {};
  options.limit_bytes = limit_bytes;
  options.mode = TALUS_MODE_CHECKED;
  return api::heap_new(&options);
}
const Instance& instance_of_heap(talus_heap* heap) {
  return *instance_slot(id_in_handle(api::handle_in(heap))).heap;
}
const Slab& slab_of_block(const void* block) {
  return *static_cast<Slab*>(page_map.descriptor_of_owned(reinterpret_cast<uintptr_t>(block)));
}
bool is_sound_now(talus_heap* heap) {
  const Inside inside{api::handle_in(heap), "test"};
  return inside.heap().is_sound();
}

// 2 is what a hardened heap would be (docs/decisions/0028).
TEST(CheckedHeap, AModeThatThereIsNotIsRefused) {
  for (const unsigned wrong : {2u, 77u, ~0u}) {
    talus_heap_options options = {};
    memcpy(&options.mode, &wrong, sizeof wrong);
    errno = 0;
    EXPECT_EQ(api::heap_new(&options), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST(CheckedHeap, OnlyItsOwnSlabsAreExact) {
  talus_heap* heap = make_checked();
  talus_heap* plain = api::heap_new(nullptr);
  const void* block = api::heap_malloc(heap, 64);
  const void* other = api::heap_malloc(plain, 64);
  EXPECT_TRUE(slab_of_block(block).is_exact());
  EXPECT_FALSE(slab_of_block(other).is_exact());
  // The other blocks are in the slab, so their frees and resizes are found to be wrong.
  EXPECT_EQ(slab_of_block(block).free_count, slab_of_block(block).block_count - 1);
  EXPECT_LT(slab_of_block(other).free_count, slab_of_block(other).block_count - 1);
  EXPECT_EQ(instance_of_heap(heap).ready[index_of(class_of(64))].count, 0u);
  EXPECT_TRUE(is_sound_now(heap) && is_sound_now(plain));
  // The next heap with this id is a plain one, and so are the slabs of its class.
  api::heap_destroy(heap);
  talus_heap* next = api::heap_new(nullptr);
  EXPECT_EQ(id_in_handle(api::handle_in(next)), id_in_handle(api::handle_in(heap)));
  EXPECT_FALSE(slab_of_block(api::heap_malloc(next, 64)).is_exact());
  api::heap_destroy(next);
  api::heap_destroy(plain);
}

TEST(CheckedHeap, TakesRightCallsOfAllKinds) {
  talus_heap* heap = make_checked();
  for (int round = 0; round < 3; round++) {
    for (const size_t bytes : sizes_of_all_kinds) {
      std::vector<void*> blocks;
      for (size_t i = 0; i < 100; i++) {
        void* block = i % 3 == 0   ? api::heap_calloc(heap, 1, bytes)
                      : i % 3 == 1 ? api::heap_aligned_alloc(heap, 256, bytes)
                                   : api::heap_malloc(heap, bytes);
        ASSERT_NE(block, nullptr);
        test::fill_pattern(block, bytes, i);
        blocks.push_back(block);
      }
      EXPECT_EQ(api::heap_stats(heap).live_blocks, blocks.size());
      EXPECT_TRUE(is_sound_now(heap));
      for (size_t i = 0; i < 60; i++) EXPECT_TRUE(test::has_pattern(blocks[i], bytes, i));
      for (size_t i = 0; i < 20; i++) api::heap_free(heap, blocks[i]);
      for (size_t i = 20; i < 40; i++) api::free(blocks[i]);
      std::thread([&] {
        for (size_t i = 40; i < 60; i++) api::free(blocks[i]);
      }).join();
      api::free_batch(blocks.data() + 60, 40);
      EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
      if (round == 1) api::heap_clear(heap);
    }
  }
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(CheckedHeap, ResizesAsAnother) {
  talus_heap* heap = make_checked();
  void* block = api::heap_malloc(heap, 100);
  test::fill_pattern(block, 100, 1);
  void* same = api::realloc(block, 112);
  EXPECT_EQ(same, block) << "it fits";
  EXPECT_EQ(api::malloc_usable_size(block), 112u);
  for (const size_t bytes : {500u, 70000u, 300000u, 2000u, 100u}) {
    block = bytes % 3 == 0 ? api::heap_realloc(heap, block, bytes) : api::realloc(block, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(test::has_pattern(block, 100, 1));
    EXPECT_EQ(api::heap_of(block), heap);
  }
  EXPECT_TRUE(expand(block, 112));
  block = reallocate_aligned(block, 512, 2000);
  EXPECT_TRUE(test::has_pattern(block, 100, 1));
  block = reallocate_empty(block, 20);
  block = reallocate_zeroed(block, 5000);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 1u);
  EXPECT_TRUE(is_sound_now(heap));
  api::heap_free(heap, block);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(CheckedHeap, KeepsItsLimit) {
  talus_heap* heap = make_checked(slice_bytes);
  std::vector<void*> blocks;
  while (void* block = api::heap_malloc(heap, 1000)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), size_class_row(class_of(1000)).block_count);
  for (void* block : blocks) api::heap_free(heap, block);
  EXPECT_NE(api::heap_malloc(heap, 20), nullptr) << "the empty slab made room";
  api::heap_destroy(heap);
}

// Blocks that outlive it are ordinary ones.
TEST(CheckedHeap, ItsModeEndsWithIt) {
  talus_heap* heap = make_checked();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) blocks.push_back(api::heap_malloc(heap, 64));
  for (size_t i = 0; i < blocks.size(); i += 2) api::free(blocks[i]);
  EXPECT_EQ(api::heap_delete(heap), 0);
  for (size_t i = 1; i < blocks.size(); i += 2) {
    EXPECT_FALSE(slab_of_block(blocks[i]).is_exact());
    EXPECT_EQ(api::realloc(blocks[i], 60), blocks[i]);
    api::free(blocks[i]);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(CheckedHeap, GivesPagesBackAndForks) {
  talus_heap* heap = make_checked();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 4000; i++) blocks.push_back(api::heap_malloc(heap, 5000));
  for (size_t i = 0; i < blocks.size(); i++) {
    if (i % 8 != 0) api::free(blocks[i]);
  }
  purge_on_request(SIZE_MAX);
  EXPECT_TRUE(is_sound_now(heap));
  const pid_t child = fork();
  if (child == 0) {
    for (size_t i = 0; i < blocks.size(); i += 8) api::free(blocks[i]);
    for (int i = 0; i < 1000; i++) api::free(api::heap_malloc(heap, 5000));
    _exit(api::heap_stats(heap).live_blocks == 0 && is_sound_now(heap) ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (size_t i = 0; i < blocks.size(); i += 8) api::free(blocks[i]);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A region knows its blocks one by one, in each mode. What falls back lies in slabs.
TEST(CheckedHeap, MayHaveAProvider) {
  talus_provider provider = {};
  provider.kind = TALUS_PROVIDER_PREALLOC;
  provider.flags = TALUS_PROVIDER_FALLBACK;
  provider.bytes = 128 * kib;
  talus_heap_options options = {};
  options.provider = &provider;
  options.mode = TALUS_MODE_CHECKED;
  talus_heap* heap = api::heap_new(&options);
  ASSERT_NE(heap, nullptr);
  std::vector<void*> blocks;
  size_t fallen = 0;
  for (size_t i = 0; i < 1000; i++) {
    blocks.push_back(api::heap_malloc(heap, 500));
    const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(blocks.back()));
    if (!word.is_slab()) continue;
    fallen++;
    EXPECT_TRUE(slab_of_block(blocks.back()).is_exact());
  }
  EXPECT_GT(fallen, 100u);
  EXPECT_LT(fallen, 1000u);
  for (void*& block : blocks) block = api::heap_realloc(heap, block, 600);
  for (void* block : blocks) api::free(block);
  api::heap_destroy(heap);
}

}  // namespace
}  // namespace talus::core
