// SPDX-License-Identifier: MIT
// tests/observe/profiled: a program with a known heap: which functions hold what.
//
// Owns: the truth, which it prints once all of it is allocated. Then it waits for its input to end.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::vector<void*> kept;
unsigned long made_bytes = 0;

void* keep(void* block) {
  if (block == nullptr) std::abort();
  kept.push_back(block);
  return block;
}

}  // namespace

// Functions with names that no other has. What each holds stands beside it.
#define TALUS_SITE extern "C" __attribute__((noinline, noclone))
TALUS_SITE void leak_small() {  // 60 MB in blocks of 100 bytes
  for (int i = 0; i < 600000; i++) keep(std::malloc(100));
}
TALUS_SITE void leak_zeroed() {  // 40 MB in blocks of 2000 bytes
  for (int i = 0; i < 20000; i++) keep(std::calloc(20, 100));
}
TALUS_SITE void leak_new() {  // 30 MB in blocks of 500 bytes
  for (int i = 0; i < 60000; i++) keep(::operator new(500));
}
TALUS_SITE void leak_aligned() {  // 20 MB in blocks of 1000 bytes
  for (int i = 0; i < 20000; i++) keep(std::aligned_alloc(64, 1024));
}
TALUS_SITE void leak_large() {  // 100 MB in blocks of 1 MB
  for (int i = 0; i < 100; i++) keep(std::malloc(1000000));
}
TALUS_SITE void grow() {  // 50 MB that moved there from blocks of 16 bytes
  for (int i = 0; i < 10000; i++) keep(std::realloc(std::malloc(16), 5000));
}
TALUS_SITE void churn() {  // nothing; allocates 200 MB
  for (int i = 0; i < 400000; i++) {
    void* const block = std::malloc(500);
    asm volatile("" : : "r"(block) : "memory");
    std::free(block);
    made_bytes += 500;
  }
}
TALUS_SITE void* in_thread(void*) {  // 45 MB in blocks of 300 bytes
  for (int i = 0; i < 150000; i++) keep(std::malloc(300));
  return nullptr;
}

int main() {
  kept.reserve(1000000);
  leak_small();
  leak_zeroed();
  leak_new();
  leak_aligned();
  leak_large();
  grow();
  churn();
  pthread_t thread;
  if (pthread_create(&thread, nullptr, in_thread, nullptr) != 0) return 1;
  pthread_join(thread, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  int letter = 0;
  while ((letter = std::getchar()) != EOF) {
    if (letter == 'c') churn();
    if (letter == 'f') {
      for (void* const block : kept) std::free(block);
      kept.clear();
    }
    std::puts("done");
    std::fflush(stdout);
  }
  return 0;
}
