// SPDX-License-Identifier: MIT
// tests/unit/regions/providers: heaps of one's own whose memory comes from a buffer, a
// preallocation or a file.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "heap_with_provider.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

using test::heap_on;
using test::request_for;
using test::use_heap;

alignas(16) char static_buffers[2][200 * kib + 48];

talus_provider buffer_of(void* at, size_t bytes) {
  talus_provider request{};
  request.kind = TALUS_PROVIDER_BUFFER;
  request.buffer = at;
  request.bytes = bytes;
  return request;
}
void use_buffer(char* at, size_t bytes) {
  memset(at, 0xa5, bytes);  // nothing counts on a buffer that is zero
  talus_heap* heap = heap_on(buffer_of(at, bytes));
  ASSERT_NE(heap, nullptr);
  EXPECT_STREQ(api::heap_name(heap), "provided");
  use_heap(heap, reinterpret_cast<uintptr_t>(at), reinterpret_cast<uintptr_t>(at) + bytes);
  EXPECT_EQ(api::heap_delete(heap), EINVAL) << "the caller wants the buffer back";
  api::heap_destroy(heap);
}

// What the page map knows of all slices that the buffer touches.
std::vector<std::pair<uint32_t, void*>> words_of(const char* at, size_t bytes) {
  std::vector<std::pair<uint32_t, void*>> words;
  const uintptr_t from = round_down(reinterpret_cast<uintptr_t>(at), slice_bytes);
  for (uintptr_t to = from; to < reinterpret_cast<uintptr_t>(at) + bytes; to += slice_bytes) {
    words.emplace_back(page_map.word_of(to).bits(), page_map.descriptor_of(to));
  }
  return words;
}

TEST(Buffer, WorksWhereverItLies) {
  char on_stack[150 * kib];
  use_buffer(on_stack, sizeof on_stack);
  use_buffer(static_buffers[0], 128 * kib);
  use_buffer(static_buffers[0] + 3, 128 * kib + 7);
  auto* block = static_cast<char*>(api::malloc(2 * mib));
  const auto before = words_of(block, 2 * mib);
  use_buffer(block, 2 * mib);
  EXPECT_EQ(words_of(block, 2 * mib), before);
  use_buffer(block, 128 * kib + 1);
  use_buffer(block + 100 * kib + 16, 500 * kib);
  use_buffer(block + 2 * mib - 200 * kib, 200 * kib);
  EXPECT_EQ(words_of(block, 2 * mib), before);
  test::fill_pattern(block, 2 * mib, 7);
  block = static_cast<char*>(api::realloc(block, 3 * mib));
  EXPECT_TRUE(test::has_pattern(block, 2 * mib, 7));
  api::free(block);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Buffer, IsUnusedAfterwards) {
  talus_heap* heap = heap_on(buffer_of(static_buffers[0], 128 * kib));
  void* block = api::heap_malloc(heap, 100);
  EXPECT_EQ(api::heap_of(block), heap);
  api::heap_destroy(heap);
  EXPECT_EQ(api::heap_of(block), nullptr);
  for (const auto& [word, descriptor] : words_of(static_buffers[0], sizeof static_buffers)) {
    EXPECT_EQ(word, 0u);
    EXPECT_EQ(descriptor, nullptr);
  }
}

// They may have a slice in common.
TEST(Buffer, HasNeighbours) {
  talus_heap* heaps[2];
  for (int i = 0; i < 2; i++) heaps[i] = heap_on(buffer_of(static_buffers[i], 200 * kib));
  for (int i = 0; i < 2; i++) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(static_buffers[i]);
    use_heap(heaps[i], from, from + 200 * kib);
  }
  api::heap_destroy(heaps[0]);
  use_heap(heaps[1], reinterpret_cast<uintptr_t>(static_buffers[1]),
           reinterpret_cast<uintptr_t>(static_buffers[1]) + 200 * kib);
  api::heap_destroy(heaps[1]);
}

// What docs/providers.md says of the smallest buffer.
TEST(Buffer, OfTheLeastSizeIsMostlyBlocks) {
  talus_heap* heap = heap_on(buffer_of(static_buffers[0], 128 * kib));
  for (const size_t bytes : {16, 64, 1000, 4096}) {
    size_t blocks = 0;
    while (api::heap_malloc(heap, bytes) != nullptr) blocks++;
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GE(blocks * bytes, 120 * kib);
    EXPECT_EQ(api::heap_stats(heap).live_blocks, blocks);
    api::heap_clear(heap);
  }
  EXPECT_NE(api::heap_malloc(heap, 120 * kib), nullptr);
  api::heap_destroy(heap);
}

TEST(Provider, ThatIsNotPossible) {
  char* at = static_buffers[0];
  const talus_provider_calls none{};
  talus_provider without_calls = request_for(TALUS_PROVIDER_CALLBACKS, mib);
  talus_provider without_reserve = without_calls;
  without_reserve.calls = &none;
  talus_provider without_directory = request_for(TALUS_PROVIDER_FILE, mib);
  without_directory.directory = nullptr;
  const talus_provider wrong[] = {buffer_of(at, 128 * kib - 1),
                                  buffer_of(nullptr, mib),
                                  buffer_of(at, SIZE_MAX),
                                  request_for(TALUS_PROVIDER_OS, SIZE_MAX),
                                  request_for(TALUS_PROVIDER_OS, mib, 1),
                                  request_for(TALUS_PROVIDER_PREALLOC, 0),
                                  request_for(TALUS_PROVIDER_PREALLOC, mib, 4),
                                  request_for(TALUS_PROVIDER_PREALLOC, mib, TALUS_PROVIDER_GROW),
                                  without_calls,
                                  without_reserve,
                                  without_directory,
                                  request_for(static_cast<talus_provider_kind>(7), mib)};
  for (const talus_provider& request : wrong) {
    errno = 0;
    EXPECT_EQ(heap_on(request), nullptr) << request.kind;
    EXPECT_EQ(errno, EINVAL) << request.kind;
  }
  talus_provider nowhere = request_for(TALUS_PROVIDER_FILE, mib);
  nowhere.directory = "/proc/self/no-directory";
  errno = 0;
  EXPECT_EQ(heap_on(nowhere), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  talus_heap* plain = heap_on(request_for(TALUS_PROVIDER_OS, 0));
  EXPECT_NE(plain, nullptr);
  api::heap_destroy(plain);
}

TEST(Provider, OfTheKernelAndFilesWork) {
  const talus_provider requests[] = {
      request_for(TALUS_PROVIDER_OS, 3 * mib), request_for(TALUS_PROVIDER_PREALLOC, 3 * mib),
      request_for(TALUS_PROVIDER_FILE, 3 * mib),
      request_for(TALUS_PROVIDER_FILE, 3 * mib, TALUS_PROVIDER_GROW)};
  for (const talus_provider& request : requests) {
    for (int round = 0; round < 3; round++) {
      talus_heap* heap = heap_on(request);
      ASSERT_NE(heap, nullptr);
      use_heap(heap, 0, UINTPTR_MAX);
      size_t blocks = 0;
      while (void* block = api::heap_malloc(heap, 100 * kib)) {
        memset(block, 1, 100 * kib);
        blocks++;
      }
      EXPECT_EQ(blocks, 30u);
      EXPECT_GE(api::heap_stats(heap).slab_bytes, 30 * 100 * kib);
      api::heap_destroy(heap);
    }
  }
}

// Dropped pages of a file come back as they were, so a large block is cleared byte by byte.
TEST(Provider, LargeZeroedBlocksAreZeroInAFile) {
  constexpr size_t bytes = calloc_purge_bytes_min + mib;
  for (const unsigned flags : {0u, TALUS_PROVIDER_GROW}) {
    talus_heap* heap = heap_on(request_for(TALUS_PROVIDER_FILE, bytes + mib, flags));
    ASSERT_NE(heap, nullptr);
    void* block = api::heap_malloc(heap, bytes);
    ASSERT_NE(block, nullptr);
    memset(block, 0x5a, bytes);
    api::heap_free(heap, block);
    block = api::heap_calloc(heap, 1, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(test::is_zero(block, bytes)) << flags;
    api::heap_destroy(heap);
  }
}

TEST(Provider, FallsBackWhereItMay) {
  talus_heap* heap = heap_on(request_for(TALUS_PROVIDER_PREALLOC, mib, TALUS_PROVIDER_FALLBACK));
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) {
    blocks.push_back(api::heap_malloc(heap, 1000));
    ASSERT_NE(blocks[i], nullptr);
    ASSERT_EQ(api::heap_of(blocks[i]), heap);
    test::fill_pattern(blocks[i], 1000, i);
  }
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 3000u);
  for (size_t i = 0; i < 3000; i++) {
    blocks[i] = api::realloc(blocks[i], 3000);
    ASSERT_NE(blocks[i], nullptr);
    ASSERT_EQ(api::heap_of(blocks[i]), heap);
    ASSERT_TRUE(test::has_pattern(blocks[i], 1000, i));
  }
  for (void* block : blocks) api::heap_free(heap, block);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_destroy(heap);
  EXPECT_TRUE(test::space_is_sound());
}

// A block that grows counts for what it has more, also where it has to move.
TEST(Provider, AMoveCountsOnceForTheLimit) {
  talus_heap* heap = heap_on(request_for(TALUS_PROVIDER_OS, 8 * mib), mib);
  void* block = api::heap_malloc(heap, 600 * kib);
  void* wall = api::heap_malloc(heap, 16);
  test::fill_pattern(block, 600 * kib, 3);
  EXPECT_EQ(api::heap_realloc(heap, block, mib), nullptr) << "with the other block it is too much";
  void* moved = api::heap_realloc(heap, block, 700 * kib);
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, block);
  EXPECT_TRUE(test::has_pattern(moved, 600 * kib, 3));
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 700 * kib + 16);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 2u);
  api::heap_free(heap, wall);
  api::heap_free(heap, moved);
  EXPECT_EQ(api::heap_stats(heap).live_bytes, 0u);
  EXPECT_NE(api::heap_malloc(heap, mib), nullptr);
  api::heap_destroy(heap);
}

// Slabs and large blocks lie on either side of the preallocation.
TEST(Provider, AWalkIsByAddressWhereItFellBack) {
  std::vector<talus_heap*> heaps;
  for (int round = 0; round < 8; round++) {
    talus_heap* heap = heap_on(request_for(TALUS_PROVIDER_PREALLOC, mib, TALUS_PROVIDER_FALLBACK));
    heaps.push_back(heap);
    for (size_t i = 0; i < 300; i++) {
      ASSERT_NE(api::heap_malloc(heap, i % 10 == 0 ? 50000 : 10000), nullptr);
    }
    struct Seen {
      const void* last = nullptr;
      size_t blocks = 0;
    } seen;
    api::heap_walk(
        heap,
        [](const talus_heap_area* area, void* block, void* context) {
          auto& so_far = *static_cast<Seen*>(context);
          if (block != nullptr) {
            so_far.blocks++;
            return 0;
          }
          EXPECT_GT(area->base, so_far.last);
          so_far.last = area->base;
          return 0;
        },
        &seen);
    EXPECT_EQ(seen.blocks, 300u);
  }
  for (talus_heap* heap : heaps) api::heap_destroy(heap);
}

}  // namespace
}  // namespace talus::core
