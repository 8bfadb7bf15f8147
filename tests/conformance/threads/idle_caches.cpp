// Threads that sleep keep little of what they freed (N07): 64 KiB each after 5 s, 400 of them; of
// blocks that they took themselves, in all sizes, 256 KiB.
//
// Case "foreign": the main thread takes 800 MiB in mixed sizes and deals the blocks out in turn.
// Each thread frees its 2 MiB and sleeps, as the workers of a pool do. Case "own": each thread
// takes and frees 2 MiB in sizes from 16 bytes to 48 KiB itself, then sleeps. The base is the same
// sleeping threads before any of that, their stacks touched. So what is above it is the
// allocator's: caches, heaps, tables. The waiting is idle: no thread calls the allocator.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../relaunch.hpp"
#include "../retention.hpp"

#include <pthread.h>

namespace {

constexpr std::size_t thread_count = 400;
constexpr std::size_t bytes_each = 2 * probe::mib;
constexpr std::size_t kept_foreign_max = 64 * probe::kib;
// Of each of some fifty sizes that it used itself, a thread may keep a block, and thus a page.
constexpr std::size_t kept_own_max = 256 * probe::kib;
constexpr std::size_t stack_bytes = 128 * probe::kib;
constexpr std::size_t stack_touched = 32 * probe::kib;

probe::Crowd dealt[thread_count];
pthread_barrier_t barrier;
bool is_foreign = false;

// What a thread's later calls need of its stack is resident before the base is taken.
__attribute__((noinline)) void touch_stack() {
  char bytes[stack_touched];
  for (std::size_t i = 0; i < stack_touched; i += 1024) *probe::opaque(bytes + i) = 1;
}

void take_own(std::size_t seed) {
  probe::Random random(seed + 1);
  probe::Crowd crowd;
  while (crowd.bytes() < bytes_each) {
    const std::size_t top = std::size_t{32} << random.below(11);
    crowd.take(random.between(top / 2, top + top / 2));
  }
  crowd.give_all();
}

void* sleep_work_sleep(void* argument) {
  const auto number = reinterpret_cast<std::size_t>(argument);
  touch_stack();
  pthread_barrier_wait(&barrier);  // all are there
  pthread_barrier_wait(&barrier);  // blocks are dealt
  if (is_foreign) {
    dealt[number].give_all();
  } else {
    take_own(number);
  }
  pthread_barrier_wait(&barrier);  // all is free
  pthread_barrier_wait(&barrier);  // over
  return nullptr;
}

void deal_out() {
  probe::Random random(7);
  for (std::size_t i = 0; dealt[thread_count - 1].bytes() < bytes_each; ++i) {
    probe::Crowd& hand = dealt[i % thread_count];
    hand.take(random.between(16, random.below(9) == 0 ? 20000 : 600));
  }
}

int run(const char* name) {
  pthread_barrier_init(&barrier, nullptr, thread_count + 1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, stack_bytes);
  pthread_t threads[thread_count];
  for (std::size_t i = 0; i < thread_count; ++i) {
    if (pthread_create(&threads[i], &small, sleep_work_sleep, reinterpret_cast<void*>(i)) != 0) {
      probe::skip("no room for 400 threads");
    }
  }
  pthread_barrier_wait(&barrier);
  probe::sleep_ms(100);
  const std::size_t base = probe::resident_bytes();
  if (is_foreign) deal_out();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  const double bar = static_cast<double>(is_foreign ? kept_foreign_max : kept_own_max);
  const auto kept_each_max = static_cast<std::size_t>(bar * probe::tolerance());
  const std::size_t limit = base + thread_count * kept_each_max;
  const double start = probe::now_seconds();
  const bool is_little = probe::within(5.0, [&] { return probe::resident_bytes() <= limit; });
  const double seconds = probe::now_seconds() - start;
  // Pages may still leave when the bar is met; the figure is the end.
  const std::size_t left = probe::saturating_difference(probe::settled_resident_bytes(), base);
  PROBE_EXPECT(is_little, "%s blocks: 400 sleeping threads keep %zu KiB each", name,
               left / thread_count / 1024);
  char figure[60];
  std::snprintf(figure, sizeof(figure), "kept, %s blocks", name);
  probe::figure(figure, static_cast<double>(left) / thread_count / 1024, "KiB a thread");
  std::snprintf(figure, sizeof(figure), "time, %s blocks", name);
  probe::figure(figure, seconds, "s");
  pthread_barrier_wait(&barrier);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* roles[] = {"foreign", "own"};
  if (argc > 1) {
    is_foreign = probe::is_role(argc, argv, "foreign");
    return run(argv[1]);
  }
  constexpr std::size_t need = 2 * thread_count * bytes_each;
  if (probe::available_bytes() < 2 * need) probe::skip("less than 3.2 GiB of memory are free");
  probe::expect_ok_side_by_side(roles, 30);
  return probe::verdict();
}
