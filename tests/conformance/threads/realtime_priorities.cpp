// Two real-time threads on one processor share blocks: the more urgent one never stalls (N35).
//
// Under SCHED_FIFO a thread runs until it sleeps. If the thread of priority 80 waits for a lock by
// spinning, or by giving way only to its equals, the holder of priority 10 never runs again. A
// child has one thread of each priority, bound to the same processor. The urgent one wakes up at
// all moments of the other's work, and each frees what the other allocated. Both sleep often enough
// to stay below the kernel's limit on real-time work, which would stop them for 50 ms. No call of
// the allocator may take the urgent thread that long; a child that does nothing more is killed.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>

namespace {

constexpr double seconds = 2.0;
constexpr double hang_seconds = 2.0;
constexpr double stall_max = 0.050;
constexpr int urgent_priority = 80;
constexpr int other_priority = 10;
constexpr std::size_t slots = 512;
constexpr std::size_t exchanges_min = 2000;  // of the urgent thread, or nothing was asked

std::atomic<void*> shared_slots[slots];
std::atomic<bool> is_over{false};
double longest_stall;
std::size_t urgent_exchanges;
std::size_t other_exchanges;

bool become(int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0;
}

// All threads of the process that start from here on run on one processor.
bool bind_to_one_processor() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return false;
  int chosen = CPU_SETSIZE - 1;
  while (chosen > 0 && !CPU_ISSET(static_cast<std::size_t>(chosen), &set)) --chosen;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(chosen), &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

// Mostly small blocks, some large ones; returns how long the two calls took.
double exchange(probe::Random& random) {
  const std::size_t size =
      random.below(100) == 0 ? random.between(40000, 2000000) : random.between(1, 2000);
  double before = probe::now_seconds();
  auto* block = static_cast<unsigned char*>(malloc(size));
  double took = probe::now_seconds() - before;
  PROBE_EXPECT(block != nullptr, "malloc(%zu) gives null", size);
  block[0] = block[size - 1] = 1;
  void* others = shared_slots[random.below(slots)].exchange(block);
  before = probe::now_seconds();
  free(others);
  const double free_took = probe::now_seconds() - before;
  return free_took > took ? free_took : took;
}

void* work_urgently(void*) {
  PROBE_EXPECT(become(urgent_priority), "priority %d", urgent_priority);
  probe::Random random(80);
  const double end = probe::now_seconds() + seconds;
  while (probe::now_seconds() < end) {
    const timespec time{0, static_cast<long>(random.between(20000, 150000))};
    nanosleep(&time, nullptr);
    for (int i = 0; i < 30; ++i) {
      const double stall = exchange(random);
      if (stall > longest_stall) longest_stall = stall;
      ++urgent_exchanges;
    }
  }
  is_over = true;
  return nullptr;
}

void* work_on(void*) {
  PROBE_EXPECT(become(other_priority), "priority %d", other_priority);
  probe::Random random(10);
  while (!is_over.load(std::memory_order_relaxed)) {
    const double pause = probe::now_seconds() + 0.008;
    while (probe::now_seconds() < pause) {
      exchange(random);
      ++other_exchanges;
    }
    const timespec time{0, 2000000};
    nanosleep(&time, nullptr);
  }
  return nullptr;
}

int run_both() {
  if (!bind_to_one_processor()) return probe::exit_skipped;
  if (!become(other_priority)) return probe::exit_skipped;
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, work_on, nullptr);
  pthread_create(&threads[1], nullptr, work_urgently, nullptr);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  for (auto& slot : shared_slots) free(slot.load());
  probe::figure("longest stall", 1000 * longest_stall, "ms");
  probe::figure("urgent exchanges", static_cast<double>(urgent_exchanges), "");
  PROBE_EXPECT(longest_stall < stall_max, "a call took %.0f ms", 1000 * longest_stall);
  PROBE_EXPECT(urgent_exchanges >= exchanges_min, "%zu exchanges only", urgent_exchanges);
  PROBE_EXPECT(other_exchanges >= exchanges_min, "%zu exchanges of the other", other_exchanges);
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "both")) return run_both();
  const probe::Outcome outcome =
      probe::relaunch("both", seconds + hang_seconds, [] { return true; });
  if (outcome.code == probe::exit_skipped) probe::skip("SCHED_FIFO is not permitted");
  probe::expect_ok(outcome, "two real-time threads on one processor");
  return probe::verdict();
}
