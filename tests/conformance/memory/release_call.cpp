// malloc_trim(0) returns what sleeping threads freed (N02): 5 % of the peak within 100 ms.
//
// Eight threads fill 33 MiB each in mixed sizes, free everything and block: in one process on a
// condition (a futex), in another in read(). The main thread calls malloc_trim(0) at once. In each
// of three rounds at most 5 % of the peak may be resident a second later, and in the best round
// already 100 ms after the call began. Thread stacks and tables count: they are little of 264 MiB.
// SPDX-License-Identifier: MIT
#include "../relaunch.hpp"
#include "../retention.hpp"

#include <pthread.h>

namespace {

constexpr int thread_count = 8;
constexpr int rounds = 3;
constexpr std::size_t bytes_each = 33 * probe::mib;
constexpr std::size_t kept_percent_max = 5;
constexpr double seconds_max = 0.1;

pthread_barrier_t barrier;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
int mornings = 0;  // guarded by mutex
int bell[2];       // a pipe; one byte wakes one reader
bool blocks_in_read = false;

void block_until_morning(int round) {
  if (blocks_in_read) {
    char byte = 0;
    while (read(bell[0], &byte, 1) < 0) {}
    return;
  }
  pthread_mutex_lock(&mutex);
  while (mornings <= round) pthread_cond_wait(&woken, &mutex);
  pthread_mutex_unlock(&mutex);
}

void wake_all() {
  if (blocks_in_read) {
    probe::write_all(bell[1], "01234567", thread_count);
    return;
  }
  pthread_mutex_lock(&mutex);
  ++mornings;
  pthread_cond_broadcast(&woken);
  pthread_mutex_unlock(&mutex);
}

void* fill_free_block(void* argument) {
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 1);
  for (int round = 0; round < rounds; ++round) {
    probe::Crowd crowd;
    crowd.take_mixed(random, bytes_each);
    pthread_barrier_wait(&barrier);  // full
    pthread_barrier_wait(&barrier);  // measured
    crowd.give_all();
    pthread_barrier_wait(&barrier);  // empty
    block_until_morning(round);
  }
  return nullptr;
}

int run(const char* blocked_in) {
  pthread_barrier_init(&barrier, nullptr, thread_count + 1);
  if (pipe(bell) != 0) return probe::exit_skipped;
  const std::size_t base = probe::resident_bytes();
  pthread_t threads[thread_count];
  for (std::size_t i = 0; i < thread_count; ++i) {
    pthread_create(&threads[i], nullptr, fill_free_block, reinterpret_cast<void*>(i));
  }
  double best_seconds = 1e9;
  double most_kept = 0;
  for (int round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&barrier);
    const std::size_t peak = probe::saturating_difference(probe::resident_bytes(), base);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    probe::sleep_ms(20);  // all of them have reached the call they block in
    const std::size_t limit = base + peak / 100 * kept_percent_max;
    const double start = probe::now_seconds();
    probe::purge_free_memory();
    while (probe::resident_bytes() > limit && probe::now_seconds() - start < 1.0) {
      probe::sleep_ms(5);
    }
    const double seconds = probe::now_seconds() - start;
    const std::size_t left = probe::saturating_difference(probe::resident_bytes(), base);
    const double kept = probe::percent(left, peak);
    PROBE_EXPECT(base + left <= limit, "owners in %s: %.0f %% of %zu KiB stay", blocked_in, kept,
                 peak / 1024);
    most_kept = kept > most_kept ? kept : most_kept;
    best_seconds = seconds < best_seconds ? seconds : best_seconds;
    wake_all();
  }
  PROBE_EXPECT(best_seconds <= seconds_max, "owners in %s: it takes %.0f ms", blocked_in,
               best_seconds * 1000);
  char name[60];
  std::snprintf(name, sizeof(name), "kept, owners in %s", blocked_in);
  probe::figure(name, most_kept, "% of peak");
  std::snprintf(name, sizeof(name), "time, owners in %s", blocked_in);
  probe::figure(name, best_seconds * 1000, "ms");
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "futex")) return run("futex");
  if (probe::is_role(argc, argv, "read")) {
    blocks_in_read = true;
    return run("read");
  }
  for (const char* role : {"futex", "read"}) {
    probe::expect_ok(probe::relaunch(role, 25, [] { return true; }), role);
  }
  return probe::verdict();
}
