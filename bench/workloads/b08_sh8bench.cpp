// B8, sh8bench-like: small blocks by a histogram of sizes, and blocks allocated by main.
//
// Measures: bursts of one size as in B7 in a much larger heap, while each thread also frees blocks
// of another thread that only allocates.
// Method: twice as many threads as T, and main. Main allocates `foreign` blocks of 8 bytes, each
// with the address of its slot, and publishes each at once. They form regions of equal size, one
// for each thread, and each thread has an equal part of each region. A thread's iteration frees the
// published blocks of its parts, in order. It then adds blocks to its buffer, in the number that
// the histogram's next entry gives (kept_fifth.hpp). Figure: elapsed time.
// Written from a description of the benchmark. Differs: a seventh of its iterations and foreign
// blocks, to run for a few seconds; all blocks are freed at the end; stamps are checked.
//
// SPDX-License-Identifier: MIT

#include <new>

#include "kept_fifth.hpp"

namespace {

constexpr double iterations_default = 100000;  // of all threads
constexpr double foreign_per_iteration = 100.0 / 7;
constexpr size_t heap_slots_default = 1000000;  // of all threads

struct Entry {
  uint32_t bytes;
  uint32_t count;
};

constexpr Entry histogram[] = {{8, 1000},  {16, 5000}, {48, 1000}, {72, 100},
                               {148, 100}, {200, 100}, {520, 10},  {1056, 5},
                               {4096, 3},  {9162, 1},  {34562, 1}, {168524, 1}};
constexpr size_t histogram_count = sizeof histogram / sizeof histogram[0];

using Foreign = std::atomic<void*>;

struct Sh8 {
  size_t threads;
  size_t iterations;     // per thread
  size_t slots;          // per thread
  size_t foreign_count;  // a multiple of threads * threads
  Foreign* foreign;
  bench::PaddedCounter blocks[bench::threads_max];
  bench::PaddedCounter peak_bytes[bench::threads_max];
  bench::StartGate gate;

  void supply() const {
    for (size_t at = 0; at < foreign_count; at++) {
      void* block = bench::take(sizeof(void*));
      const Foreign* address = &foreign[at];
      std::memcpy(block, &address, sizeof address);
      foreign[at].store(block, std::memory_order_release);
    }
  }

  // False: not published yet.
  bool try_free_foreign(size_t at) const {
    void* block = foreign[at].load(std::memory_order_acquire);
    if (block == nullptr) return false;
    const Foreign* address = &foreign[at];
    if (std::memcmp(block, &address, sizeof address) != 0) {
      bench::leave(bench::exit_wrong_data, "a foreign block lost its address: blocks overlap");
    }
    bench::give(block);
    foreign[at].store(nullptr, std::memory_order_relaxed);
    return true;
  }

  // The n-th foreign block of a thread, over its parts of all regions.
  size_t foreign_index(size_t thread, size_t n) const {
    const size_t part = foreign_count / threads / threads;
    return n / part * (foreign_count / threads) + thread * part + n % part;
  }

  void operator()(size_t thread) {
    gate.wait();
    bench::KeptFifth buffer(slots);
    uint64_t identity = uint64_t{thread} << 40;
    const size_t foreign_end = foreign_count / threads;
    size_t foreign_done = 0;
    for (size_t iteration = 0; iteration < iterations; iteration++) {
      while (foreign_done < foreign_end && try_free_foreign(foreign_index(thread, foreign_done)))
        foreign_done++;
      const Entry& entry = histogram[iteration % histogram_count];
      for (uint32_t left = entry.count; left > 0; left--)
        buffer.add(entry.bytes, bench::tag_of(++identity));
    }
    buffer.free_all();
    while (foreign_done < foreign_end) {
      if (try_free_foreign(foreign_index(thread, foreign_done))) {
        foreign_done++;
      } else {
        sched_yield();
      }
    }
    blocks[thread].set(static_cast<int64_t>(buffer.added()));
    peak_bytes[thread].set(static_cast<int64_t>(buffer.live_bytes_peak()));
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const size_t threads = 2 * arguments.threads(bench::cores());
  const double iterations = arguments.real("iterations", iterations_default) * scale;
  const size_t heap_slots = arguments.count("slots", heap_slots_default);
  arguments.finish();
  if (threads > bench::threads_max) {
    bench::leave(bench::exit_wrong_arguments, "too many threads");
  }
  static Sh8 work;
  work.threads = threads;
  work.iterations = bench::scaled(iterations / static_cast<double>(threads), 1);
  work.slots = bench::scaled(static_cast<double>(heap_slots / threads), 1);
  const size_t squared = threads * threads;
  work.foreign_count = bench::scaled(iterations * foreign_per_iteration / squared, 1) * squared;
  work.foreign = bench::take_array<Foreign>(work.foreign_count);
  for (size_t at = 0; at < work.foreign_count; at++) new (&work.foreign[at]) Foreign(nullptr);

  bench::Team<Sh8> team(threads, work);
  const double start_s = work.gate.open(threads);
  work.supply();
  team.join();
  const double elapsed_s = bench::now_s() - start_s;
  bench::give(work.foreign);

  uint64_t blocks = work.foreign_count;
  uint64_t peak = work.foreign_count * sizeof(Foreign);  // foreign blocks come and go
  for (size_t thread = 0; thread < threads; thread++) {
    blocks += static_cast<uint64_t>(work.blocks[thread].get());
    peak += static_cast<uint64_t>(work.peak_bytes[thread].get());
  }
  bench::Result result("B8 sh8bench-like", threads, elapsed_s, "s", false, 2 * blocks, elapsed_s);
  result.count("foreign_blocks", work.foreign_count);
  result.count("peak_requested_bytes", peak);
  result.print();
  return 0;
}
