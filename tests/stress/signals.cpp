// SPDX-License-Identifier: MIT
// stress/signals: threads are interrupted all the time while they allocate.
//
// A timer of 100 microseconds and a thread that sends signals to the others; the handler allocates
// nothing (that is not allowed) but changes errno and uses its stack. Checked: contents, that the
// handler's thread finds its heap as it was, that waiting on a lock survives interruption.
#include <cerrno>
#include <signal.h>
#include <sys/time.h>

#include "footprint.hpp"

namespace stress::signals {

constexpr int thread_count = 4;
stress::Exchange<256> exchange;
talus::core::Atomic<uint64_t> signal_count;
talus::core::Atomic<bool> must_end;
talus::core::Atomic<pthread_t> threads[thread_count];

void on_signal(int) {
  const int kept = errno;
  volatile char scratch[2000];
  for (size_t i = 0; i < sizeof scratch; i += 100) scratch[i] = static_cast<char>(i);
  signal_count.fetch_add_relaxed(1);
  errno = EDOM;
  errno = kept;
}

void work(int index) {
  threads[index].store_release(pthread_self());
  stress::Random random{static_cast<uint64_t>(index)};
  while (!must_end.load_acquire()) {
    const size_t bytes = random.size(random.below(200) == 0 ? stress::mib : 2 * stress::kib);
    stress::check_and_release(exchange.swap(random, stress::make_filled(random, bytes)));
    if (random.below(2000) == 0) talus::core::purge_beyond(stress::mib);
  }
}

void send_signals() {
  const stress::Deadline deadline;
  stress::Random random{77};
  while (!deadline.is_over()) {
    const pthread_t target = threads[random.below(thread_count)].load_acquire();
    if (target != 0) pthread_kill(target, SIGUSR1);
    if (random.below(4) == 0) stress::sleep_us(20);
  }
  must_end.store_release(true);
}

void set_timer(long microseconds) {
  const itimerval every{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &every, nullptr);
}

int run() {
  talus::core::process_starts();
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGALRM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  set_timer(100);
  {
    stress::Threads<void (*)(int)> workers{thread_count, work};
    send_signals();
  }
  set_timer(0);
  printf("%zu signals\n", static_cast<size_t>(signal_count.load_relaxed()));
  STRESS_CHECK(signal_count.load_relaxed() > 1000, "too few signals to say anything");
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"signals", run};

}  // namespace stress::signals
