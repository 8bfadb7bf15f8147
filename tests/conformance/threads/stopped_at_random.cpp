// 64 threads on few cores, stopped at any point: the others go on, and all wake up again (N35).
//
// A child runs 64 threads that exchange blocks. A signal handler makes single threads sleep a few
// milliseconds wherever they are, inside the allocator too. The parent stops and continues the
// whole process at random. A thread that spins on a lock whose holder was stopped burns the core
// that the holder needs; a lost wake-up shows as a stall. No half second may pass without progress
// (stops of the whole process excepted); the longest gap is printed.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <csignal>
#include <malloc.h>
#include <pthread.h>

namespace {

constexpr std::size_t thread_count = 64;
constexpr std::size_t slots = 1024;
constexpr double seconds = 3.0;
constexpr double gap_max = 0.5;

std::atomic<void*> shared_slots[slots];
std::atomic<bool> is_over{false};
std::atomic<std::size_t> operations{0};
std::atomic<std::size_t> operations_of[thread_count];

void sleep_here(int) {
  const int kept = errno;
  timespec time{0, 3000000};
  nanosleep(&time, nullptr);
  errno = kept;
}

void* exchange_blocks(void* argument) {
  const auto number = reinterpret_cast<std::size_t>(argument);
  probe::Random random(number + 1);
  while (!is_over.load(std::memory_order_relaxed)) {
    const std::size_t size =
        random.below(200) == 0 ? random.between(1, 200000) : random.between(8, 1000);
    auto* block = static_cast<unsigned char*>(malloc(size));
    block[0] = block[size - 1] = 1;
    free(shared_slots[random.below(slots)].exchange(block));
    operations.fetch_add(1, std::memory_order_relaxed);
    operations_of[number].fetch_add(1, std::memory_order_relaxed);
  }
  return nullptr;
}

// The longest time without an operation anywhere; a gap across a stop of the process is cut by the
// clock jump between two of our own looks.
double watch_gaps(pthread_t* threads) {
  probe::Random random(99);
  std::size_t seen = 0;
  double gap = 0;
  double longest = 0;
  double last = probe::now_seconds();
  const double end = last + seconds;
  while (last < end) {
    pthread_kill(threads[random.below(thread_count)], SIGUSR1);
    probe::sleep_ms(1);
    const double now = probe::now_seconds();
    const bool was_stopped = now - last > 0.1;
    const std::size_t count = operations.load();
    gap = count != seen || was_stopped ? 0 : gap + (now - last);
    if (gap > longest) longest = gap;
    seen = count;
    last = now;
  }
  return longest;
}

int run_crowd() {
  struct sigaction action {};
  action.sa_handler = sleep_here;
  sigaction(SIGUSR1, &action, nullptr);
  pthread_t threads[thread_count];
  for (std::size_t i = 0; i < thread_count; ++i) {
    pthread_create(&threads[i], nullptr, exchange_blocks, reinterpret_cast<void*>(i));
  }
  const double longest = watch_gaps(threads);
  is_over = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  for (auto& slot : shared_slots) free(slot.load());
  for (std::size_t i = 0; i < thread_count; ++i) {
    PROBE_EXPECT(operations_of[i] > 100, "thread %zu did %zu operations", i,
                 operations_of[i].load());
  }
  probe::figure("longest gap", 1000 * longest, "ms");
  probe::figure("operations", static_cast<double>(operations.load()) / seconds, "per s");
  PROBE_EXPECT(longest < gap_max, "no progress for %.0f ms", 1000 * longest);
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "crowd")) return run_crowd();
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", argv[0], "crowd", nullptr);
    _exit(probe::exit_not_started);
  }
  if (child < 0) return probe::exit_not_started;  // a kill of -1 would stop all processes
  probe::Random random(5);
  for (int i = 0; i < 40; ++i) {
    probe::sleep_ms(static_cast<long>(random.between(10, 60)));
    kill(child, SIGSTOP);
    probe::sleep_ms(static_cast<long>(random.between(1, 30)));
    kill(child, SIGCONT);
  }
  probe::expect_ok(probe::wait_for(child, 20), "64 threads stopped at random");
  return probe::verdict();
}
