// Threads that come and go leave nothing behind (N06): flat after the first thousand of 6000, in
// the full form of 60000.
//
// Each takes blocks, frees half and exchanges the others with blocks that earlier threads left. So
// other threads free an ended thread's memory all the time, while the amount of live memory stays
// the same.
// Resident memory at the end may exceed that after 1000 threads by 2 MiB.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr std::size_t round_threads = 500;
constexpr std::size_t at_once = 4;
constexpr std::size_t slots = 512;
constexpr std::size_t growth_max = 2 * probe::mib;

std::atomic<void*> shared_slots[slots];
pthread_barrier_t all_are_there;  // the same number at once in every round

std::size_t draw_size(probe::Random& random) {
  return random.below(10) == 0 ? random.between(1000, 20000) : random.between(8, 1000);
}

void* live_briefly(void* argument) {
  pthread_barrier_wait(&all_are_there);
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 1);
  void* own[50];
  for (void*& block : own) {
    const std::size_t size = draw_size(random);
    block = probe::opaque(malloc(size));
    probe::fill(block, size, 1);
  }
  for (std::size_t i = 0; i < 50; ++i) {
    void* block = own[i];
    if (i % 2 != 0) block = shared_slots[random.below(slots)].exchange(block);
    free(block);
  }
  return nullptr;
}

void run_threads(std::size_t from, std::size_t to) {
  pthread_t threads[at_once];
  for (std::size_t i = from; i < to; i += at_once) {
    for (std::size_t j = 0; j < at_once; ++j) {
      if (pthread_create(&threads[j], nullptr, live_briefly, reinterpret_cast<void*>(i + j)) != 0) {
        probe::fail("thread %zu could not start", i + j);
        _exit(1);
      }
    }
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
}

}  // namespace

int main() {
  const std::size_t thread_total = probe::form(6000, 60000);
  pthread_barrier_init(&all_are_there, nullptr, at_once);
  const double start = probe::now_seconds();
  probe::Drift drift;
  for (std::size_t i = 0; i < thread_total; i += round_threads) {
    run_threads(i, i + round_threads);
    drift.sample();
  }
  const double seconds = probe::now_seconds() - start;
  PROBE_EXPECT(drift.bytes() <= growth_max, "%zu more threads leave %zu KiB", thread_total - 1000,
               drift.bytes() / 1024);
  probe::figure("growth", static_cast<double>(drift.bytes()) / 1024, "KiB");
  probe::figure("1000 threads", seconds * 1000 / static_cast<double>(thread_total), "s");
  for (auto& slot : shared_slots) free(slot.load());
  return probe::verdict();
}
