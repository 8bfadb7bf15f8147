// SPDX-License-Identifier: MIT
// stress/stopped_threads: 32 threads on few processors, stopped anywhere.
//
// Threads yield or sleep at random between calls. A signal handler makes some of them sleep in the
// middle of a call, with a lock held or half a delivery done. The others must go on, and no block
// may be lost or handed out twice meanwhile.
#include <signal.h>

#include "footprint.hpp"

namespace stress::stopped_threads {

constexpr int thread_count = 32;
stress::Exchange<1024> exchange;
talus::core::Atomic<bool> must_end;
talus::core::Atomic<uint64_t> stop_count, step_count;
talus::core::Atomic<pthread_t> threads[thread_count];

void stop_for_a_while(int) {
  stop_count.fetch_add_relaxed(1);
  stress::sleep_us(3000);
}

void work(int index) {
  threads[index].store_release(pthread_self());
  stress::Random random{static_cast<uint64_t>(index)};
  while (!must_end.load_acquire()) {
    const size_t bytes = random.size(random.below(300) == 0 ? stress::mib : 3 * stress::kib);
    void* found = exchange.swap(random, stress::make_filled(random, bytes));
    if (found != nullptr && random.below(8) == 0) {
      found = stress::resize_filled(found, random.size(8 * stress::kib), random);
    }
    stress::check_and_release(found);
    step_count.fetch_add_relaxed(1);
    const size_t luck = random.below(200);
    if (luck < 20) sched_yield();
    if (luck == 20) stress::sleep_us(static_cast<long>(random.below(2000)));
  }
}

void stop_some() {
  const stress::Deadline deadline;
  stress::Random random{5};
  while (!deadline.is_over()) {
    const pthread_t target = threads[random.below(thread_count)].load_acquire();
    if (target != 0) pthread_kill(target, SIGUSR1);
    stress::sleep_us(100);
  }
  must_end.store_release(true);
}

int run() {
  talus::core::process_starts();
  struct sigaction action {};
  action.sa_handler = stop_for_a_while;
  sigaction(SIGUSR1, &action, nullptr);
  {
    stress::Threads<void (*)(int)> workers{thread_count, work};
    stop_some();
  }
  printf("%zu steps, %zu stops\n", static_cast<size_t>(step_count.load_relaxed()),
         static_cast<size_t>(stop_count.load_relaxed()));
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"stopped_threads", run};

}  // namespace stress::stopped_threads
