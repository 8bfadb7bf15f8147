// A thread's first call may be any of them: realloc, free, usable size, an aligned one (N13).
//
// An allocator that sets a thread up in malloc alone meets these threads unprepared. Blocks come
// from the main thread; each thread makes exactly one kind of first call, with a small and a large
// block. Resident memory may drift by 1 MiB over the last 4000 threads.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr std::size_t sizes[] = {40, 3000, 200000};
constexpr int kinds = 8;
constexpr int rounds = 240;
constexpr int rounds_per_sample = 30;

struct Task {
  int kind;
  std::size_t size;
  void* block;
};

void* call_first(void* argument) {
  auto* task = static_cast<Task*>(argument);
  void* block = task->block;
  switch (task->kind) {
    case 0:
      free(block);
      block = nullptr;
      break;
    case 1:
      block = realloc(block, task->size * 3);
      break;
    case 2:
      block = realloc(block, task->size / 2 + 1);
      break;
    case 3:
      PROBE_EXPECT(malloc_usable_size(block) >= task->size, "usable size");
      break;
    case 4:
      free(block);
      block = calloc(1, task->size);
      break;
    case 5:
      free(nullptr);
      break;
    case 6: {
      void* aligned = nullptr;
      PROBE_EXPECT(posix_memalign(&aligned, 4096, task->size) == 0, "posix_memalign");
      free(aligned);
      break;
    }
    default:
      block = reallocarray(block, 5, task->size);
      break;
  }
  PROBE_EXPECT(block != nullptr || task->kind == 0, "first call of kind %d gives null", task->kind);
  task->block = block;
  return nullptr;
}

void run_round() {
  for (const std::size_t size : sizes) {
    for (int kind = 0; kind < kinds; ++kind) {
      Task task{kind, size, probe::opaque(malloc(size))};
      probe::fill(task.block, size, 5);
      pthread_t thread;
      pthread_create(&thread, nullptr, call_first, &task);
      pthread_join(thread, nullptr);
      if (kind == 1 || kind == 7) {
        auto* bytes = static_cast<unsigned char*>(task.block);
        PROBE_EXPECT(bytes != nullptr && bytes[0] == probe::pattern_byte(5, 0), "contents lost");
      }
      free(task.block);
    }
  }
}

}  // namespace

int main() {
  probe::Drift drift;
  for (int i = 1; i <= rounds; ++i) {
    run_round();
    if (i % rounds_per_sample == 0) drift.sample();
  }
  PROBE_EXPECT(drift.bytes() <= probe::mib, "threads leave %zu KiB", drift.bytes() / 1024);
  probe::figure("drift", static_cast<double>(drift.bytes()) / 1024, "KiB");
  return probe::verdict();
}
