// One thread allocates, others only free: resident memory stays at 1.4 times what lives (N05).
//
// First a consumer frees what a producer makes for two seconds (in full a minute), with 32 MiB
// alive at all times. In full it must also be flat: what comes after 1.5 s is at most a twentieth
// of the live memory above the value at 1.5 s. Then 64 consumers in turn free a share and sleep for
// good, as worker threads do. A last one frees for as long again beside the sleepers. Granted on
// top are 4 MiB for stacks and tables, and 64 KiB for each sleeping thread.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <condition_variable>
#include <malloc.h>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t live_max = 32 * probe::mib;
constexpr std::size_t slots = 1 << 16;
constexpr std::size_t slack = 4 * probe::mib;
constexpr std::size_t slack_per_thread = 64 * probe::kib;
constexpr std::size_t sleeper_count = 64;
constexpr double flat_from_seconds = 1.5;

// A queue of one producer and one consumer at a time; live bytes are counted exactly.
struct Queue {
  void* blocks[slots];
  std::uint32_t sizes[slots];
  std::atomic<std::size_t> pushed{0};
  std::atomic<std::size_t> popped{0};
  std::atomic<std::size_t> live{0};
};

Queue queue;
std::atomic<bool> is_over{false};

void push_until_full(probe::Random& random) {
  const std::size_t at = queue.pushed.load(std::memory_order_relaxed);
  const bool is_full = at - queue.popped.load(std::memory_order_acquire) >= slots - 1;
  if (is_full || queue.live.load(std::memory_order_relaxed) >= live_max) {
    std::this_thread::yield();
    return;
  }
  const std::size_t size =
      random.below(20) == 0 ? random.between(600, 16000) : random.between(16, 600);
  void* block = probe::opaque(malloc(size));
  probe::fill(block, size, at);
  queue.blocks[at % slots] = block;
  queue.sizes[at % slots] = static_cast<std::uint32_t>(size);
  queue.live.fetch_add(size, std::memory_order_relaxed);
  queue.pushed.store(at + 1, std::memory_order_release);
}

// Frees one block, but leaves the queue nine tenths full.
bool pop_one() {
  const std::size_t at = queue.popped.load(std::memory_order_relaxed);
  if (queue.live.load(std::memory_order_relaxed) < live_max / 10 * 9 ||
      at == queue.pushed.load(std::memory_order_acquire)) {
    std::this_thread::yield();
    return false;
  }
  void* block = queue.blocks[at % slots];
  const std::size_t size = queue.sizes[at % slots];
  PROBE_EXPECT(probe::is_filled(block, size, at), "a block of %zu bytes changed on its way", size);
  queue.popped.store(at + 1, std::memory_order_release);
  free(block);
  queue.live.fetch_sub(size, std::memory_order_relaxed);
  return true;
}

void expect_bounded(const char* name, std::size_t base, std::size_t resident, std::size_t extra) {
  const std::size_t grown = probe::saturating_difference(resident, base);
  PROBE_EXPECT(grown <= live_max / 10 * 14 + slack + extra, "%s: %zu KiB for %zu KiB live", name,
               grown / 1024, live_max / 1024);
  probe::figure(name, static_cast<double>(grown) / static_cast<double>(live_max), "x live");
}

// A consumer frees for `seconds`; the bars hold at each look, the flatness from 1.5 s on.
void run_one_consumer(const char* name, std::size_t base, double seconds, std::size_t extra) {
  std::atomic<bool> is_done{false};
  std::thread consumer([&] {
    while (!is_done.load()) pop_one();
  });
  std::size_t peak = 0;
  std::size_t early_peak = 0;
  const double start = probe::now_seconds();
  for (double now = 0; now < seconds; now = probe::now_seconds() - start) {
    probe::sleep_ms(50);
    const std::size_t bytes = probe::resident_bytes();
    if (bytes > peak) peak = bytes;
    if (now < flat_from_seconds) early_peak = peak;
  }
  is_done = true;
  consumer.join();
  expect_bounded(name, base, peak, extra);
  if (seconds < 10 * flat_from_seconds) return;  // too short to tell a slope from a start
  PROBE_EXPECT(peak - early_peak <= live_max / 20, "%s: %zu KiB more after 1.5 s", name,
               (peak - early_peak) / 1024);
  probe::figure("growth after 1.5 s", static_cast<double>(peak - early_peak) / 1024, "KiB");
}

void run_sleepers(std::size_t base, double seconds) {
  std::mutex mutex;
  std::condition_variable woken;
  bool is_morning = false;
  std::vector<std::thread> sleepers;
  std::atomic<std::size_t> asleep{0};
  for (std::size_t i = 0; i < sleeper_count; ++i) {
    sleepers.emplace_back([&] {
      for (int freed = 0; freed < 3000;) freed += pop_one() ? 1 : 0;
      ++asleep;
      std::unique_lock<std::mutex> lock(mutex);
      woken.wait(lock, [&] { return is_morning; });
    });
    while (asleep.load() != i + 1) std::this_thread::yield();
  }
  probe::sleep_ms(200);
  expect_bounded("64 sleepers", base, probe::resident_bytes(), sleeper_count * slack_per_thread);
  run_one_consumer("beside 64 sleepers", base, seconds, sleeper_count * slack_per_thread);
  {
    std::lock_guard<std::mutex> lock(mutex);
    is_morning = true;
  }
  woken.notify_all();
  for (std::thread& sleeper : sleepers) sleeper.join();
}

}  // namespace

int main() {
  // The queue's own pages are not the allocator's.
  for (std::size_t i = 0; i < slots; ++i) queue.sizes[i] = 1, queue.blocks[i] = &queue;
  const std::size_t base = probe::resident_bytes();
  std::thread producer([] {
    probe::Random random(11);
    while (!is_over.load(std::memory_order_relaxed)) push_until_full(random);
  });
  const double seconds = probe::seconds_asked(2, 60);
  run_one_consumer("one consumer", base, seconds, 0);
  run_sleepers(base, seconds);
  is_over = true;
  producer.join();
  return probe::verdict();
}
