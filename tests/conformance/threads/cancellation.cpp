// No entry point is a cancellation point (POSIX lists none of them).
//
// A thread with a pending cancellation request allocates and frees in all sizes and then sets a
// flag. An allocator that opens, reads or sleeps through the libc inside lets the thread die
// there, with its lock held; the flag stays down and the next thread hangs.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr int thread_count = 100;

std::atomic<int> finished{0};
std::atomic<bool> is_cancelled{false};

void* allocate_while_cancelled(void* argument) {
  while (!is_cancelled.load()) {}
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 1);
  void* blocks[64] = {};
  for (int i = 0; i < 3000; ++i) {
    void*& block = blocks[random.below(64)];
    free(block);
    const std::size_t size =
        random.below(100) == 0 ? random.between(1, 2000000) : random.between(1, 3000);
    block = i % 3 == 0 ? aligned_alloc(64, size) : i % 3 == 1 ? calloc(1, size) : malloc(size);
  }
  for (void* block : blocks) free(realloc(block, 5000));
  finished.fetch_add(1);
  pthread_testcancel();
  return nullptr;
}

}  // namespace

int main() {
  for (std::size_t i = 0; i < thread_count; ++i) {
    is_cancelled = false;
    pthread_t thread;
    pthread_create(&thread, nullptr, allocate_while_cancelled, reinterpret_cast<void*>(i));
    pthread_cancel(thread);
    is_cancelled = true;
    void* result = nullptr;
    pthread_join(thread, &result);
    PROBE_EXPECT(result == PTHREAD_CANCELED, "the pending cancellation was lost");
  }
  PROBE_EXPECT(finished == thread_count, "%d of %d threads were cancelled inside the allocator",
               thread_count - finished.load(), thread_count);
  return probe::verdict();
}
