// Static destructors and atexit functions free and allocate, while other threads still run (N14).
//
// The blocks were taken before main, in main and in threads that have ended or still run; contents
// are checked in the destructors. An allocator that tears itself down at exit crashes here. Twenty
// fresh processes, since what is first and last at exit is a matter of order.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <pthread.h>
#include <string>
#include <vector>

namespace {

constexpr int processes = 20;
constexpr int exit_spoilt = 9;

// Set in the child role alone: the parent's own exit is not the subject.
bool is_child;

struct Holder {
  explicit Holder(std::size_t block_size) : size(block_size), block(malloc(block_size)) {
    probe::fill(block, size, size);
  }
  ~Holder() {
    if (!probe::is_filled(block, size, size)) _exit(exit_spoilt);
    block = realloc(block, size * 3);
    free(block);
    for (int i = 0; i < 100; ++i) free(probe::opaque(malloc(static_cast<std::size_t>(i) * 97)));
    if (is_child) malloc_trim(0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  std::size_t size;
  void* block;
};

Holder small(50);
Holder medium(20000);
Holder large(3000000);
std::vector<std::string> words(1000, std::string(100, 'w'));
void* from_thread;

void free_at_exit() {
  free(from_thread);
  from_thread = malloc(77);
  for (std::string& word : words) word += word;
}

void free_late() { free(from_thread); }

void* take_for_others(void*) {
  from_thread = malloc(5000);
  return nullptr;
}

void* allocate_until_the_end(void*) {
  void* kept[16] = {};
  for (std::size_t i = 0;; ++i) {
    free(kept[i % 16]);
    kept[i % 16] = malloc(1 + i % 5000);
  }
  return nullptr;
}

int live_and_exit() {
  is_child = true;
  pthread_t thread;
  pthread_create(&thread, nullptr, take_for_others, nullptr);
  pthread_join(thread, nullptr);
  pthread_create(&thread, nullptr, allocate_until_the_end, nullptr);
  pthread_detach(thread);
  std::atexit(free_late);
  std::atexit(free_at_exit);
  probe::sleep_ms(2);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "child")) return live_and_exit();
  for (int i = 0; i < processes && probe::verdict() == 0; ++i) {
    probe::expect_ok(probe::relaunch("child", 5, [] { return true; }), "exit");
  }
  return probe::verdict();
}
