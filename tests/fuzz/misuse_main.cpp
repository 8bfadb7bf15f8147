// SPDX-License-Identifier: MIT
// fuzz/misuse_main: a process that makes right calls at random, and one planned mistake.
//
// Usage: fuzz_misuse ACT SEED. The act is a row of misuse_acts.cpp, or "none". The seed decides the
// number of threads, when the mistake comes, and the block. Standard output has a line before the
// mistake, one after it, and a verdict: `silent`, `overlap`, `damaged`. `damaged` says that a live
// block does not hold what was written there. `again` says that the freed block was given out
// meanwhile. misuse.py says what the answer must be.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "misuse_acts.hpp"
#include "misuse_world.hpp"

namespace {

using namespace fuzz_misuse;

struct Run {
  Act act = nullptr;
  uint64_t seed = 0;
  int worker_count = 1;
  size_t steps_before = 0;
  Plan* plan = nullptr;
};
Run run;
std::atomic<bool> is_made{false};  // the mistake, and it came back
std::atomic<int> working_count{0};

constexpr int maker_worker = 1;  // makes the mistake
constexpr size_t steps_after = 300;

void work_on(Worker& worker) {
  for (size_t i = 0; i < steps_after; i++) step(worker);
  urge(worker, run.plan->bytes);
}

void* work(void* context) {
  Worker& worker = *static_cast<Worker*>(context);
  if (worker.id == maker_worker) {
    for (size_t i = 0; i < run.steps_before; i++) step(worker);
    if (run.act != nullptr) run.act(*run.plan);
    quiet_bytes.store(0);
    is_made.store(true);
  }
  while (!is_made.load()) {
    step(worker);
    follow_order(worker);
  }
  work_on(worker);
  working_count--;
  return nullptr;
}

size_t draw_victim_bytes(Random& random) {
  constexpr size_t steps[] = {64, 1024, 8 * 1024, 64 * 1024, 256 * 1024, 4 * 1024 * 1024};
  const size_t bytes = 1 + random.below(steps[random.below(6)]);
  return bytes > reserved_bytes / 2 && bytes < reserved_bytes * 2 ? bytes / 3 : bytes;
}

void start_workers() {
  for (int id = 1; id <= run.worker_count; id++) {
    workers[id].id = id;
    workers[id].random.start(run.seed * 8 + static_cast<uint64_t>(id));
    working_count++;
    if (pthread_create(&workers[id].handle, nullptr, work, &workers[id]) != 0) _exit(2);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(60);
  run.act = act_of(words[1]);
  if (run.act == nullptr && strcmp(words[1], "none") != 0) return 2;
  run.seed = strtoull(words[2], nullptr, 10);
  Random random;
  random.start(run.seed);
  run.worker_count = static_cast<int>(1 + random.below(workers_max));
  run.steps_before = random.below(random.one_in(3) ? 3000 : 100);
  heap = talus_heap_new(nullptr);
  if (heap == nullptr) return 2;
  Plan plan{workers[maker_worker], run.worker_count > 1 ? 2 : 0,
            static_cast<Maker>(random.below(maker_count)), draw_victim_bytes(random),
            random.one_in(2) ? random.below(4) : random.below(1000)};
  run.plan = &plan;
  start_workers();
  while (working_count.load() != 0) {
    follow_order(workers[0]);
    sched_yield();
  }
  for (int id = 1; id <= run.worker_count; id++) pthread_join(workers[id].handle, nullptr);
  check_all(nullptr);
  end_with("silent", nullptr);
}
