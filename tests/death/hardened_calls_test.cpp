// SPDX-License-Identifier: MIT
// tests/death/hardened_calls: in the hardened mode right calls pass, alone and beside other modes.
//
// Owns: nothing. The mode begins in the child that is to live, as in hardened_blocks_test.
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "hardened_mode.hpp"
#include "api/extended.hpp"
#include "api/heaps.hpp"
#include "api/new.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {

using namespace test;

// A block that changes its size where it is has the new one, wherever it lies.
void change_in_place(void* block, size_t bytes) {
  if (api::expand_in_place(block, bytes) != block) return;  // it may refuse
  if (api::malloc_usable_size(block) != bytes) _exit(1);
  memset(block, 'F', bytes);
  api::free_sized(block, bytes);
}
TEST(HardenedCalls, TheSizeThatABlockWasGivenInPlace) {
  EXPECT_HARD_PASS({
    for (size_t bytes = 100; bytes < 5000000; bytes *= 7) {
      change_in_place(hard_block(bytes), bytes - 1);
      change_in_place(hard_block(bytes), bytes / 2 + 1);
      change_in_place(hide(api::memalign_at(4096, 32, bytes)), bytes - 1);
      change_in_place(hide(api::memalign_at(4096, 32, bytes)), bytes / 2 + 1);
    }
  });
}

// An empty block at any alignment has no bytes, and a free may say so.
void free_empty_blocks(size_t alignment) {
  api::free_sized(hide(api::calloc_whole(alignment, 1, 0)), 0);
  api::free_sized(hide(api::aligned_alloc(alignment, 0)), 0);
}
TEST(HardenedCalls, EmptyBlocksHaveNoBytes) {
  EXPECT_HARD_PASS({
    for (size_t alignment = 1; alignment <= size_t{1} << 22; alignment *= 2) {
      free_empty_blocks(alignment);
    }
  });
}

// A slab with a guard page has fewer blocks than its class.
void walk_blocks_of(size_t bytes) {
  talus_heap* const heap = api::heap_new(nullptr);
  constexpr size_t count = 2000;
  for (size_t i = 0; i < count; i++) api::heap_malloc(heap, bytes);
  size_t met = 0;
  const auto visit = [](const talus_heap_area* area, void* block, void* context) {
    const auto end = reinterpret_cast<uintptr_t>(area->base) + area->bytes;
    if (block == nullptr) return 0;
    ++*static_cast<size_t*>(context);
    return reinterpret_cast<uintptr_t>(block) + area->block_bytes <= end ? 0 : 1;
  };
  if (api::heap_walk(heap, visit, &met) != 0) _exit(1);
  if (met != count) _exit(2);
  api::heap_destroy(heap);
}
TEST(HardenedCalls, AWalkMeetsLiveBlocksAlone) {
  EXPECT_HARD_PASS({
    for (size_t bytes = 8; bytes < 6000; bytes += bytes / 3) walk_blocks_of(bytes);
  });
}

// What a right program does, alone in the mode and beside others.
void call_rightly() {
  for (int i = 0; i < thread_rounds(3000); i++) {
    const size_t bytes = static_cast<size_t>(i) * 37 % 9000;
    api::free_sized(hide(api::malloc(bytes)), bytes);
    api::delete_block<CallKind::one>(hide(api::new_block<CallKind::one>(bytes)), bytes);
    char* block = static_cast<char*>(hide(api::calloc(1, bytes)));
    for (size_t at_byte = 0; at_byte < bytes; at_byte++) {
      if (block[at_byte] != 0) _exit(1);
    }
    memset(block, 'A', api::malloc_usable_size(block));
    block = static_cast<char*>(hide(api::realloc(block, bytes + 3)));
    memset(block, 'B', bytes + 3);
    block = static_cast<char*>(hide(api::realloc(block, 2 * bytes + 1)));
    memset(block, 'C', 2 * bytes + 1);
    on_another_thread([block] { api::free(block); });
    void* aligned = hide(api::aligned_alloc(256, bytes));
    memset(aligned, 'D', bytes);
    api::free(aligned);
    void* placed = hide(api::memalign_at(64, 32, bytes));
    memset(placed, 'E', bytes);
    api::free(placed);
  }
}
TEST(HardenedCalls, RightCallsPass) {
  EXPECT_HARD_PASS(call_rightly());
  EXPECT_HARD_PASS({
    options.check_kinds = true;
    call_rightly();
  });
  EXPECT_HARD_PASS({
    begin_mode(counting::mode);
    call_rightly();
    const counting::Counts counts = counting::collect();
    if (counts.live_bytes > 1 << 20) _exit(2);  // a free counts the bytes that the allocation did
  });
  EXPECT_HARD_PASS({
    FillChoice choice;
    choice.on_free.is_on = true;
    choice.on_free.byte = 0x5a;
    fill::begin(choice);
    call_rightly();
  });
}

}  // namespace
}  // namespace talus::core
