// SPDX-License-Identifier: MIT
// stress/fork_latency: a fork in a process with many threads, on this heap and on the C library's.
//
// The fork handlers take every heap's lock, so their cost might grow with the number of threads
// (200, or the argument). The same program, started again with `libc`, allocates from the C library
// and installs no handlers; runs alternate and the medians of both are printed. The bar for
// releases is 1.2; here only what noise cannot explain fails: twice and more.
#include <spawn.h>

#include "child.hpp"

extern "C" char** environ;

namespace {

int thread_count = 200;
constexpr int round_count = 3;
talus::core::Atomic<uint32_t> ready_count;
talus::core::Atomic<bool> may_end;

void sleep_with_blocks(bool is_libc) {
  void* blocks[200];
  for (size_t i = 0; i < 200; i++) {
    const size_t bytes = 16 + i * 40;
    blocks[i] = is_libc ? malloc(bytes) : talus::core::allocate(bytes);
    memset(blocks[i], 1, bytes);
  }
  ready_count.fetch_or_release(0);
  ready_count.fetch_add_relaxed(1);
  while (!may_end.load_acquire()) stress::sleep_us(20000);
  for (void* block : blocks) is_libc ? free(block) : talus::core::free_block(block);
}

// Microseconds of the median fork, as the parent sees it.
double measure(bool is_libc, double seconds) {
  auto body = [is_libc](int) { sleep_with_blocks(is_libc); };
  stress::Threads<decltype(body)> threads{thread_count, body};
  while (ready_count.load_acquire() != static_cast<uint32_t>(thread_count)) stress::sleep_us(1000);
  constexpr size_t samples_max = 4000;
  static double samples[samples_max];
  size_t count = 0;
  const double end = stress::now_seconds() + seconds;
  while (count < samples_max && (count < 20 || stress::now_seconds() < end)) {
    const double start = stress::now_seconds();
    const pid_t child = fork();
    STRESS_CHECK(child >= 0, "fork");
    if (child == 0) _exit(0);
    samples[count++] = stress::now_seconds() - start;
    waitpid(child, nullptr, 0);
  }
  may_end.store_release(true);
  qsort(samples, count, sizeof samples[0], [](const void* a, const void* b) {
    const double left = *static_cast<const double*>(a), right = *static_cast<const double*>(b);
    return left < right ? -1 : left > right ? 1 : 0;
  });
  return samples[count / 2] * 1e6;
}

// Runs this program for one measurement and reads its number from a pipe.
double measure_in_process(const char* program, const char* heap) {
  int ends[2];
  STRESS_CHECK(pipe(ends) == 0, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  char count[16];
  snprintf(count, sizeof count, "%d", thread_count);
  char* const arguments[] = {const_cast<char*>(program), count, const_cast<char*>(heap), nullptr};
  pid_t child = 0;
  STRESS_CHECK(posix_spawn(&child, program, &actions, nullptr, arguments, environ) == 0, "spawn");
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char text[64] = {};
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  STRESS_CHECK(status == 0 && length > 0, "%s ended with %d", heap, status);
  return atof(text);
}

double median_of_three(double a, double b, double c) {
  const double low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = stress::test_seconds() / (2 * round_count);
  if (argc >= 2) thread_count = atoi(argv[1]);
  STRESS_CHECK(thread_count > 0, "threads: %s", argv[1]);
  if (argc == 3) {
    const bool is_libc = strcmp(argv[2], "libc") == 0;
    if (!is_libc) talus::core::process_starts();
    printf("%.1f\n", measure(is_libc, seconds));
    return 0;
  }
  double ours[round_count], theirs[round_count];
  for (int round = 0; round < round_count; round++) {
    ours[round] = measure_in_process("/proc/self/exe", "talus");
    theirs[round] = measure_in_process("/proc/self/exe", "libc");
  }
  const double our_median = median_of_three(ours[0], ours[1], ours[2]);
  const double their_median = median_of_three(theirs[0], theirs[1], theirs[2]);
  printf("fork with %d threads: %.0f us, with the C library's malloc %.0f us, ratio %.2f\n",
         thread_count, our_median, their_median, our_median / their_median);
  if (!stress::is_sanitized) {
    STRESS_CHECK(our_median <= 2 * their_median + 50, "%.0f us", our_median);
  }
  return 0;
}
