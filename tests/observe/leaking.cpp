// SPDX-License-Identifier: MIT
// tests/observe/leaking: memory that is lost, held, cached and replaced.
//
// Owns: which function does which. "lose" and "hold" end at once, with the status that follows.
// "run" goes on until its input ends: one place leaks, beside caches that fill, and turn over.
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct Node {
  Node* next;
  char text[1000];
};
Node* held = nullptr;
std::vector<void*> cached, turning;
uintptr_t volatile mixed = 0;

}  // namespace

#define TALUS_SITE extern "C" __attribute__((noinline, noclone))
TALUS_SITE void lose_blocks(int count) {
  for (int i = 0; i < count; i++) mixed = mixed ^ reinterpret_cast<uintptr_t>(std::malloc(1000));
}
TALUS_SITE void hold_blocks(int count) {  // each but the first is reached by another block alone
  for (int i = 0; i < count; i++) {
    Node* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
    node->next = held;
    held = node;
  }
}
TALUS_SITE void fill_cache(int count) {  // and stop
  while (cached.size() < 3000 && count-- > 0) cached.push_back(std::malloc(2000));
}
TALUS_SITE void turn_over(size_t step) {  // always full
  if (turning.size() < 2000) return turning.push_back(std::malloc(3000));
  std::free(turning[step % 2000]);
  turning[step % 2000] = std::malloc(3000);
}

int main(int count, char** words) {
  const char* const way = count > 1 ? words[1] : "run";
  if (std::strcmp(way, "run") != 0) {
    hold_blocks(3000);
    if (std::strcmp(way, "hold") != 0) lose_blocks(3000);
    if (std::strcmp(way, "thread") == 0) std::thread([] { std::exit(0); }).join();
    return count > 2 ? std::atoi(words[2]) : 0;
  }
  cached.reserve(3000);
  for (size_t i = 0; i < 2000; i++) turn_over(i);
  std::puts("ready");
  std::fflush(stdout);
  pollfd input{0, POLLIN, 0};
  for (size_t step = 0; ::poll(&input, 1, 2) == 0; step++) {
    lose_blocks(10);
    fill_cache(20);
    for (size_t i = 0; i < 10; i++) turn_over(step * 10 + i);
  }
  return 0;
}
