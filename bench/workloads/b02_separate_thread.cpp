// B2, separate thread: threads fill and empty one shared table, so another thread frees most
// blocks.
//
// Measures: remote frees under contention, and the reuse of their memory.
// Method: N = bytes / (size_max / 2) atomic slots, all empty. Each thread walks its own random
// permutation of the slots, ten passes. An empty slot gets a new block by compare and swap (the
// loser frees its block); a full slot is emptied and its block freed. A last pass frees the rest.
// Differs from its model: each thread counts its live bytes on padded lines, and samples of the sum
// are taken. A shared counter would measure itself. A block's size follows from its slot, so a
// wrong block in a slot is noticed.
//
// SPDX-License-Identifier: MIT

#include <new>

#include "live_peak.hpp"

namespace {

constexpr double bytes_default = 1e8;
constexpr size_t passes_default = 10;
constexpr size_t steps_per_sample = 1024;  // often enough to see the peak, too rare to cost time

struct SeparateThread {
  size_t slots;
  size_t threads;
  size_t passes;
  std::atomic<void*>* table;
  uint32_t* sizes;
  uint32_t* orders[bench::threads_max];
  bench::LivePeak peak;
  bench::PaddedCounter ops[bench::threads_max];
  bench::StartGate gate;

  void fill(size_t slot, int64_t& live, int64_t& done) {
    const size_t bytes = sizes[slot];
    void* block = bench::take(bytes);
    bench::stamp(block, bytes, bench::tag_of(slot));
    done++;
    void* expected = nullptr;
    if (table[slot].compare_exchange_strong(expected, block, std::memory_order_acq_rel)) {
      live += static_cast<int64_t>(bytes);
    } else {
      bench::give(block);
      done++;
    }
  }

  void empty(size_t slot, int64_t& live, int64_t& done) {
    void* block = table[slot].exchange(nullptr, std::memory_order_acq_rel);
    if (block == nullptr) return;
    bench::check_stamp(block, sizes[slot], bench::tag_of(slot));
    bench::give(block);
    done++;
    live -= static_cast<int64_t>(sizes[slot]);
  }

  void operator()(size_t thread) {
    bench::Random random(thread + 1);
    uint32_t* order = orders[thread];
    for (size_t slot = 0; slot < slots; slot++) order[slot] = static_cast<uint32_t>(slot);
    bench::shuffle(order, slots, random);
    int64_t live = 0;
    int64_t done = 0;
    gate.wait();
    for (size_t pass = 0; pass <= passes; pass++) {
      const bool is_last = pass == passes;
      for (size_t step = 0; step < slots; step++) {
        const size_t slot = order[step];
        if (table[slot].load(std::memory_order_relaxed) != nullptr) {
          empty(slot, live, done);
        } else if (!is_last) {
          fill(slot, live, done);
        }
        if (step % steps_per_sample == 0) peak.sample(thread, threads, live);
      }
      peak.sample(thread, threads, live);
    }
    ops[thread].set(done);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const size_t threads = arguments.threads(bench::cores());
  const size_t size_max = arguments.count("size", 500);
  const double bytes = arguments.real("bytes", bytes_default);
  // --scale changes the number of passes, not the table, so that the peak stays comparable.
  const size_t passes =
      bench::scaled(static_cast<double>(arguments.count("passes", passes_default)), scale);
  arguments.finish();

  static SeparateThread work;
  work.slots = bench::scaled(bytes / (static_cast<double>(size_max) / 2), 1);
  work.threads = threads;
  work.passes = passes;
  work.table = bench::take_array<std::atomic<void*>>(work.slots);
  work.sizes = bench::take_array<uint32_t>(work.slots);
  bench::Random random(0);
  for (size_t slot = 0; slot < work.slots; slot++) {
    new (&work.table[slot]) std::atomic<void*>(nullptr);
    work.sizes[slot] = random.below(size_max + 1) + 4;
  }
  for (size_t thread = 0; thread < threads; thread++) {
    work.orders[thread] = bench::take_array<uint32_t>(work.slots);
  }

  bench::Team<SeparateThread> team(threads, work);
  const double start_s = work.gate.open(threads);
  team.join();
  // A slow thread may have filled slots after a fast thread's last pass.
  for (size_t slot = 0; slot < work.slots; slot++) bench::give(work.table[slot].load());
  bench::trim(bench::TrimTime::once);
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t ops = 0;
  for (size_t thread = 0; thread < threads; thread++)
    ops += static_cast<uint64_t>(work.ops[thread].get());
  const uint64_t tables = work.slots * (sizeof(void*) + sizeof(uint32_t) * (1 + threads));
  bench::Result result("B2 separate thread", threads, static_cast<double>(ops) / elapsed_s, "ops/s",
                       true, ops, elapsed_s);
  result.count("size_max", size_max);
  result.count("peak_requested_bytes", work.peak.bytes(threads) + tables);
  result.print();
  return 0;
}
