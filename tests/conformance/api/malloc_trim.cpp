// malloc_trim(0) returns the free memory of every thread, also of sleeping threads (N02, F2).
//
// Case one: the main thread freed 64 MiB below a block that still lives. Case two: four threads
// freed 32 MiB each and sleep on a condition. The probe looks a second after the call; the promise
// is 100 ms, and it prints the elapsed time. At most 5 % of the peak may remain, plus 1 MiB for
// stacks and tables.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <condition_variable>
#include <malloc.h>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t thread_count = 4;
constexpr std::size_t block_bytes = 512;

void** take_blocks(std::size_t bytes) {
  const std::size_t count = bytes / block_bytes;
  void** blocks = static_cast<void**>(malloc(count * sizeof(void*)));
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = probe::opaque(malloc(block_bytes));
    probe::fill(blocks[i], block_bytes, i);
  }
  return blocks;
}

void give_blocks(void** blocks, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / block_bytes; ++i) free(blocks[i]);
  free(blocks);
}

void expect_trimmed(const char* what, std::size_t base, std::size_t peak) {
  const std::size_t limit = base + (peak - base) / 20 + probe::mib;
  const double start = probe::now_seconds();
  const int result = malloc_trim(0);
  PROBE_EXPECT(result == 0 || result == 1, "malloc_trim returns %d", result);
  const bool is_trimmed = probe::within(1.0, [&] { return probe::resident_bytes() <= limit; });
  const std::size_t left = probe::saturating_difference(probe::resident_bytes(), base);
  PROBE_EXPECT(is_trimmed, "%s: %zu of %zu KiB stay", what, left / 1024, (peak - base) / 1024);
  probe::figure(what, 100.0 * static_cast<double>(left) / static_cast<double>(peak - base),
                "% kept");
  probe::figure("after", 1000 * (probe::now_seconds() - start), "ms");
}

void check_main_thread() {
  const std::size_t base = probe::resident_bytes();
  void** blocks = take_blocks(64 * probe::mib);
  void* top = probe::opaque(malloc(block_bytes));
  const std::size_t peak = probe::resident_bytes();
  give_blocks(blocks, 64 * probe::mib);
  expect_trimmed("main thread", base, peak);
  free(top);
}

class Stage {
 public:
  void reach(int step) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_[step];
    changed_.notify_all();
  }
  void await(int step, std::size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return arrived_[step] >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_[4] = {};
};

void check_sleeping_threads() {
  enum Step { filled, measured, freed, over };
  Stage stage;
  const std::size_t base = probe::resident_bytes();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      void** blocks = take_blocks(32 * probe::mib);
      stage.reach(filled);
      stage.await(measured, 1);
      give_blocks(blocks, 32 * probe::mib);
      stage.reach(freed);
      stage.await(over, 1);
    });
  }
  stage.await(filled, thread_count);
  const std::size_t peak = probe::resident_bytes();
  stage.reach(measured);
  stage.await(freed, thread_count);
  expect_trimmed("sleeping threads", base, peak);
  stage.reach(over);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  check_main_thread();
  check_sleeping_threads();
  return probe::verdict();
}
