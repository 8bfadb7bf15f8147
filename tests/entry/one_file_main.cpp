// SPDX-License-Identifier: MIT
// tests/entry/one_file_main: what the first lines of the one file to copy promise.
//
// Built with that file alone: no library, no definition and no other header of Talus. Shows that
// malloc and its family have their usual names in the namespace. The same names without it are the
// C library's. Heaps and bounded instances are there, and two units use one heap.
#include "talus.hpp"

#include <stdlib.h>
#include <string.h>

#include <vector>

#include "expect.h"

void* other_malloc(size_t bytes);
void other_free(void* pointer);

namespace {

uint64_t live_bytes() {
  uint64_t value = 0;
  EXPECT(talus_get("heap.live_bytes", &value) == 0);
  return value;
}

void usual_names() {
  const uint64_t before = live_bytes();
  char* block = static_cast<char*>(talus::calloc(10, 10));
  EXPECT(block != nullptr && block[99] == 0 && talus_usable_size(block) >= 100);
  strcpy(block, "text");
  block = static_cast<char*>(talus::realloc(block, 100000));
  EXPECT(block != nullptr && strcmp(block, "text") == 0 && live_bytes() >= before + 100000);
  talus::free(block);
  void* (*allocates)(size_t) = talus::malloc;
  void (*frees)(void*) = talus::free;
  frees(allocates(30));
  other_free(talus::malloc(40));
  talus::free(other_malloc(50));
  EXPECT(live_bytes() == before);
  EXPECT(talus::malloc(SIZE_MAX) == nullptr);
}

// The same names without the namespace are the C library's, also where all of it is visible.
void names_of_the_c_library() {
  using namespace talus;
  const uint64_t before = live_bytes();
  void* block = malloc(100);
  block = realloc(block, 200);
  void* const zeroed = calloc(2, 50);
  EXPECT(live_bytes() == before);
  free(block);
  free(zeroed);
}

void heaps_and_pools() {
  talus::heap heap{"requests"};
  void* const block = heap.allocate(100);
  EXPECT(talus_heap_of(block) == heap.get() && heap.stats().live_blocks == 1);
  talus::bounded pools{4, 4096};
  void* const pooled = pools.allocate(16);
  EXPECT(talus_bounded_pool_of(pools.get(), pooled) == 0);
  pools.deallocate(pooled);
  std::vector<int, talus::allocator<int>> numbers(1000, 7);
  EXPECT(numbers.back() == 7 && strcmp(talus_version(), TALUS_VERSION) == 0);
}

}  // namespace

int main() {
  usual_names();
  names_of_the_c_library();
  heaps_and_pools();
}
