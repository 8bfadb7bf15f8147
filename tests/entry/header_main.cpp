// SPDX-License-Identifier: MIT
// tests/entry/header_main: a program that has Talus from its header alone, in two units.
//
// Shows that both units use one heap, from several threads: each frees a block of the other, which
// would end the process if it were foreign. Shows that malloc stays the C library's. Its blocks are
// foreign to Talus, so on_foreign_free would end the process if free() were ours.
#include "header_units.hpp"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "expect.h"

namespace {

void one_heap_of_two_units() {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{40000}, size_t{3} << 20}) {
    void* here = talus_malloc(bytes);
    EXPECT(here != nullptr && other_usable_size(here) >= bytes);
    other_free(here);
    void* there = other_malloc(bytes);
    EXPECT(there != nullptr && talus_usable_size(there) >= bytes);
    there = talus_realloc(there, bytes * 2 + 1);
    EXPECT(there != nullptr);
    talus_free(there);
  }
  EXPECT(strcmp(talus_version(), TALUS_VERSION) == 0);
}

void extended_names() {
  void* blocks[3] = {};
  EXPECT(talus_malloc_batch(20, 3, blocks) == 3);
  talus_free_batch(blocks, 3);
  char* zeroed = static_cast<char*>(talus_recalloc(talus_zalloc(10), 30, 10));
  zeroed = static_cast<char*>(talus_rezalloc(zeroed, 5000));
  EXPECT(zeroed != nullptr && zeroed[4999] == 0);
  EXPECT(talus_expand(zeroed, 5000) == zeroed);
  talus_free(talus_realloc_no_preserve(zeroed, 10));
  void* block = talus_aligned_realloc(talus_calloc_aligned(64, 1, 10), 256, 1000);
  EXPECT(reinterpret_cast<uintptr_t>(block) % 256 == 0);
  talus_free(block);
  block = talus_memalign_at(64, 48, 10);
  EXPECT(reinterpret_cast<uintptr_t>(block) % 64 == 16);
  talus_free(block);
  const talus_block sized = talus_allocate_at_least(1000);
  EXPECT(sized.bytes == talus_usable_size(sized.pointer));
  talus_free(sized.pointer);
  talus_free(talus_aligned_allocate_at_least(64, 1000).pointer);
  talus_free(talus_strdup("text"));
  talus_free(talus_strndup("text", 2));
  char* root = talus_realpath("/", nullptr);
  EXPECT(root != nullptr && strcmp(root, "/") == 0);
  talus_free(root);
}

void every_name() {
  void* block = nullptr;
  EXPECT(talus_posix_memalign(&block, 4096, 10) == 0);
  EXPECT(reinterpret_cast<uintptr_t>(block) % 4096 == 0);
  talus_free_aligned_sized(block, 4096, 10);
  talus_free_sized(talus_calloc(3, 5), 15);
  talus_freezero(talus_memalign(64, 100), 100);
  talus_free(talus_aligned_alloc(128, 100));
  talus_free(talus_valloc(1));
  talus_free(talus_pvalloc(1));
  block = talus_reallocarray(nullptr, 10, 10);
  block = talus_recallocarray(block, 10, 30, 10);
  EXPECT(block != nullptr && static_cast<char*>(block)[299] == 0);
  block = talus_reallocf(block, 1000);
  EXPECT(talus_usable_size(block) == talus_good_size(1000));
  talus_free(block);
  extended_names();
  talus_trim(0);
}

// Each thread frees what its neighbour allocated in the other unit.
void threads() {
  constexpr size_t thread_count = 4, block_count = 1000;
  static void* blocks[thread_count][block_count];
  static std::atomic<size_t> filled{0};
  std::vector<std::thread> all;
  for (size_t self = 0; self < thread_count; self++) {
    all.emplace_back([self] {
      for (size_t i = 0; i < block_count; i++) {
        blocks[self][i] = other_malloc(i);
        memset(blocks[self][i], 1, i);
      }
      filled++;
      while (filled < thread_count) std::this_thread::yield();
      for (void* block : blocks[(self + 1) % thread_count]) talus_free(block);
    });
  }
  for (std::thread& thread : all) thread.join();
}

void malloc_is_the_c_librarys() {
  const size_t before = mallinfo2().uordblks;
  void* volatile block = malloc(1000);
  EXPECT(block != nullptr && mallinfo2().uordblks >= before + 1000);
  free(block);
}

void child() {
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    void* block = other_malloc(1000);
    talus_free(block);
    _exit(block != nullptr ? 0 : 1);
  }
  int status = 1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

}  // namespace

int main() {
  one_heap_of_two_units();
  every_name();
  threads();
  malloc_is_the_c_librarys();
  child();
  return 0;
}
