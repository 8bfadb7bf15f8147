// SPDX-License-Identifier: MIT
// tests/death/checked_heaps: in a process without a mode, a wrong free or resize of a checked
// heap's block stops at once. A plain heap beside it answers as ever.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "api/extended.hpp"
#include "api/heaps.hpp"
#include "faults.hpp"
#include "paths/batch.hpp"

namespace talus::core {
namespace {

using namespace test;

talus_heap* make_heap_in(talus_mode mode) {
  talus_heap_options options = {};
  options.mode = mode;
  return api::heap_new(&options);
}
std::string use_of_freed_text(const void* block, size_t bytes, const char* call) {
  return "talus: use of the freed block " + hex(block) + " in " + call + "() (a free block of " +
         std::to_string(bytes) + " bytes)\n";
}

void free_both(void* first, void* second) {
  void* const both[] = {first, second};
  api::free_batch(both, 2);
}

// A block stays, so that the slab does.
class CheckedHeapFault : public testing::TestWithParam<size_t> {
 protected:
  const size_t usable = size_class_row(class_of(GetParam())).block_bytes;
  talus_heap* heap = make_heap_in(TALUS_MODE_CHECKED);
  talus_heap* plain = make_heap_in(TALUS_MODE_PROCESS);
  char* block = static_cast<char*>(api::heap_malloc(heap, GetParam()));
  char* beside = static_cast<char*>(api::heap_malloc(plain, GetParam()));
  void* kept = api::heap_malloc(heap, GetParam());
  void TearDown() override {
    api::heap_destroy(heap);
    api::heap_destroy(plain);
  }
};

TEST_P(CheckedHeapFault, FreedTwiceByEachCall) {
  const std::string text = double_free_text(block, usable);
  api::heap_free(heap, block);
  EXPECT_FAULT(text, api::heap_free(heap, block));
  EXPECT_FAULT(text, api::free(block));
  EXPECT_FAULT(text, api::free_sized(block, GetParam()));
  EXPECT_FAULT(text, api::heap_realloc(heap, block, 0));
  EXPECT_FAULT(text, on_another_thread([this] { api::free(block); }));
  EXPECT_FAULT(text, free_both(api::heap_malloc(plain, 100), block));
  EXPECT_FAULT(text, {  // however many calls lie between
    for (int i = 0; i < 1000; i++) api::heap_free(heap, api::heap_malloc(heap, 20000));
    for (int i = 0; i < 1000; i++) hide(api::malloc(GetParam()));
    api::free(block);
  });
  EXPECT_FAULT(text, {
    const pid_t child = fork();
    if (child == 0) api::free(block);
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) abort();
  });
}

// A plain heap has such blocks ready, so it cannot tell them from the program's.
TEST_P(CheckedHeapFault, NeverGiven) {
  char* next = block + 2 * usable;
  EXPECT_FAULT(double_free_text(next, usable), api::free(next));
  EXPECT_FAULT(double_free_text(next, usable), api::heap_free(heap, next));
  EXPECT_FAULT(use_of_freed_text(next, usable, "realloc"), hide(api::realloc(next, 100000)));
  if (GetParam() > 4000) return;  // so large that few are ready
  EXPECT_EXIT(
      {
        api::free(beside + usable);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_P(CheckedHeapFault, ResizedAfterItsFree) {
  api::heap_free(heap, block);
  for (const size_t bytes : {GetParam(), usable, GetParam() + 40000}) {
    EXPECT_FAULT(use_of_freed_text(block, usable, "realloc"), hide(api::realloc(block, bytes)));
    EXPECT_FAULT(use_of_freed_text(block, usable, "realloc"),
                 hide(api::heap_realloc(heap, block, bytes)));
    EXPECT_FAULT(use_of_freed_text(block, usable, "realloc"), hide(api::rezalloc(block, bytes)));
    EXPECT_FAULT(use_of_freed_text(block, usable, "talus_expand"),
                 hide(api::expand_in_place(block, bytes)));
  }
  EXPECT_FAULT(use_of_freed_text(block, usable, "talus_realloc_no_preserve"),
               hide(api::realloc_no_preserve(block, GetParam())));
  EXPECT_FAULT(use_of_freed_text(block, usable, "talus_aligned_realloc"),
               hide(api::aligned_realloc(block, 64, GetParam())));
  EXPECT_FAULT(use_of_freed_text(block, usable, "malloc_usable_size"),
               api::malloc_usable_size(block));
  EXPECT_FAULT(use_of_freed_text(block, usable, "recallocarray"),
               hide(api::recallocarray(block, 1, 2, 3)));
  EXPECT_FAULT(use_of_freed_text(block, usable, "freezero"), api::freezero(block, 1));
  // A resize that fits needs no look at a plain heap, so there it passes.
  EXPECT_EXIT(
      {
        api::heap_malloc(plain, GetParam());
        api::free(beside);
        _exit(api::realloc(beside, usable) == beside ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_P(CheckedHeapFault, FreedAfterItMoved) {
  EXPECT_FAULT(double_free_text(block, usable), {
    if (api::realloc(block, GetParam() + 100000) == block) _exit(1);
    api::free(block);
  });
}

TEST_P(CheckedHeapFault, FreedInTheMiddleOrAfterItsHeap) {
  EXPECT_FAULT(interior_text(block + 16, block, usable), api::free(block + 16));
  EXPECT_FAULT(interior_text(block + 16, block, usable), hide(api::realloc(block + 16, 1)));
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::heap_clear(heap);
    api::free(block);
  });
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), api::heap_free(plain, block));
}

INSTANTIATE_TEST_SUITE_P(Sizes, CheckedHeapFault, testing::Values(64, 1000, 5000, 20000));

// Of blocks above 32 KiB, and in a region, each heap knows all.
TEST(CheckedHeapLarge, FreedTwiceOrResizedAfterItsFree) {
  talus_heap* heap = make_heap_in(TALUS_MODE_CHECKED);
  void* block = api::heap_malloc(heap, 100000);
  api::heap_free(heap, block);
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), api::heap_free(heap, block));
  EXPECT_FAULT(foreign_text(block, "free"), api::free(block));
  EXPECT_FAULT(foreign_text(block, "realloc"), hide(api::realloc(block, 10)));
  api::heap_destroy(heap);
}

TEST(CheckedHeapWithProvider, FreedTwiceOrResizedAfterItsFree) {
  alignas(4096) static char buffer[256 * 1024];
  talus_provider provider = {};
  provider.kind = TALUS_PROVIDER_BUFFER;
  provider.buffer = buffer;
  provider.bytes = sizeof buffer;
  talus_heap_options options = {};
  options.provider = &provider;
  options.mode = TALUS_MODE_CHECKED;
  talus_heap* heap = api::heap_new(&options);
  char* block = static_cast<char*>(api::heap_malloc(heap, 64));
  api::heap_malloc(heap, 64);
  api::heap_free(heap, block);
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), api::heap_free(heap, block));
  EXPECT_FAULT(foreign_text(block, "free"), api::free(block));
  EXPECT_FAULT(foreign_text(block, "realloc"), hide(api::realloc(block, 64)));
  api::heap_destroy(heap);
}

}  // namespace
}  // namespace talus::core
