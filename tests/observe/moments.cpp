// SPDX-License-Identifier: MIT
// tests/observe/moments: a program whose heap has a peak, lives of known length, and threads.
//
// Owns: the truth, which stands beside each function. It waits for its input to end.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Blocks = std::vector<void*>;

sem_t are_made, may_end;

// In the function that calls it, so that its blocks are that function's.
__attribute__((always_inline)) inline void fill(Blocks& blocks, size_t count, size_t bytes) {
  blocks.reserve(count);
  for (size_t i = 0; i < count; i++) {
    void* const block = std::malloc(bytes);
    if (block == nullptr) std::abort();
    blocks.push_back(block);
  }
}
void clear(Blocks& blocks) {
  for (void* const block : blocks) std::free(block);
  blocks.clear();
}
void wait_ms(long ms) {
  const timespec span{0, ms * 1000000};
  nanosleep(&span, nullptr);
}

}  // namespace

#define TALUS_SITE extern "C" __attribute__((noinline, noclone))
TALUS_SITE void hold_always(Blocks& blocks) { fill(blocks, 60000, 500); }    // 30 MB
TALUS_SITE void hold_at_peak(Blocks& blocks) { fill(blocks, 80000, 1000); }  // 80 MB, then 8 MB
TALUS_SITE void hold_later(Blocks& blocks) { fill(blocks, 10000, 2000); }    // 20 MB
// Blocks that are freed at once.
TALUS_SITE void use_shortly() {
  for (int i = 0; i < 200000; i++) {
    void* const block = std::malloc(400);
    asm volatile("" : : "r"(block) : "memory");
    std::free(block);
  }
}
// Blocks that live for 30 ms at least.
TALUS_SITE void use_longer() {
  Blocks blocks;
  for (int i = 0; i < 10; i++) {
    fill(blocks, 5000, 700);
    wait_ms(30);
    clear(blocks);
  }
}
TALUS_SITE void* work(void*) {  // 10 MB
  Blocks blocks;
  fill(blocks, 10000, 1000);
  sem_post(&are_made);
  sem_wait(&may_end);
  return nullptr;
}
TALUS_SITE void* work_and_end(void*) {  // 5 MB
  Blocks blocks;
  fill(blocks, 5000, 1000);
  return nullptr;
}

int main() {
  static Blocks always, peak, later;
  sem_init(&are_made, 0, 0);
  sem_init(&may_end, 0, 0);
  use_shortly();
  use_longer();
  hold_always(always);
  hold_at_peak(peak);
  while (peak.size() > 8000) {
    std::free(peak.back());
    peak.pop_back();
  }
  hold_later(later);
  pthread_t worker, other;
  if (pthread_create(&other, nullptr, work_and_end, nullptr) != 0) return 1;
  pthread_join(other, nullptr);
  if (pthread_create(&worker, nullptr, work, nullptr) != 0) return 1;
  pthread_setname_np(worker, "a worker");
  sem_wait(&are_made);
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
  sem_post(&may_end);
  pthread_join(worker, nullptr);
  return 0;
}
