// fork while other threads are inside the allocator: the child works (N10).
//
// Three threads allocate without pause, the main thread forks 150 times. Each child allocates,
// frees what its parent had, makes a thread that allocates, forks a grandchild that allocates too,
// and has four seconds for it. A lock that was held at the moment of fork shows as a hang.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr int fork_total = 150;
constexpr unsigned child_seconds = 4;
constexpr std::size_t crowd = 300;

std::atomic<bool> is_over{false};

struct Crowd {
  void* blocks[crowd] = {};
  std::size_t sizes[crowd] = {};

  void turn(probe::Random& random) {
    const std::size_t i = random.below(crowd);
    if (blocks[i] != nullptr) {
      PROBE_EXPECT(probe::is_filled(blocks[i], sizes[i], i), "a block of %zu changed", sizes[i]);
      free(blocks[i]);
    }
    sizes[i] = random.below(50) == 0 ? random.between(1, 400000) : random.between(1, 2000);
    blocks[i] = malloc(sizes[i]);
    probe::fill(blocks[i], sizes[i], i);
  }
  void end() {
    for (std::size_t i = 0; i < crowd; ++i) {
      if (blocks[i] == nullptr) continue;
      PROBE_EXPECT(probe::is_filled(blocks[i], sizes[i], i), "a block of %zu changed", sizes[i]);
      free(blocks[i]);
      blocks[i] = nullptr;
    }
  }
};

void* allocate_for_ever(void* argument) {
  static Crowd crowds[3];
  const auto number = reinterpret_cast<std::size_t>(argument);
  probe::Random random(number + 1);
  while (!is_over.load(std::memory_order_relaxed)) crowds[number].turn(random);
  crowds[number].end();
  return nullptr;
}

void* allocate_briefly(void*) {
  Crowd own;
  probe::Random random(17);
  for (int i = 0; i < 500; ++i) own.turn(random);
  own.end();
  return nullptr;
}

void live_as_child(Crowd& inherited, probe::Random& random) {
  alarm(child_seconds);
  for (int i = 0; i < 500; ++i) inherited.turn(random);
  inherited.end();
  pthread_t thread;
  if (pthread_create(&thread, nullptr, allocate_briefly, nullptr) != 0) _exit(2);
  const pid_t grandchild = fork();
  if (grandchild == 0) {
    alarm(child_seconds);
    allocate_briefly(nullptr);
    _exit(probe::verdict());
  }
  pthread_join(thread, nullptr);
  int status = 0;
  waitpid(grandchild, &status, 0);
  const bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  PROBE_EXPECT(is_good, "the grandchild ended with status %x", status);
  _exit(probe::verdict());
}

}  // namespace

int main() {
  pthread_t threads[3];
  for (std::size_t i = 0; i < 3; ++i) {
    pthread_create(&threads[i], nullptr, allocate_for_ever, reinterpret_cast<void*>(i));
  }
  static Crowd own;
  probe::Random random(23);
  for (int i = 0; i < fork_total && probe::verdict() == 0; ++i) {
    for (int turn = 0; turn < 200; ++turn) own.turn(random);
    const pid_t child = fork();
    if (child == 0) live_as_child(own, random);
    char name[40];
    std::snprintf(name, sizeof(name), "child %d of %d", i + 1, fork_total);
    probe::expect_ok(probe::wait_for(child, child_seconds + 2), name);
  }
  is_over = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  own.end();
  return probe::verdict();
}
