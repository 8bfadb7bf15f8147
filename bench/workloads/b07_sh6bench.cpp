// B7, sh6bench-like: runs of equal sizes, most of them freed soon, in both directions.
//
// Measures: small blocks in bursts of one size, freed in and against the order of allocation, while
// a fifth of them is kept longer. No thread frees blocks of another.
// Method: twice as many threads as T. Each has a buffer of calls / threads slots and repeats that
// number of passes over the sizes. For base 1, 2, 4, 7, ... (times 3/2 plus 1) below 1000, and for
// base, base/2, base/4 ... down to 1, it adds 10 blocks of that size, 50 below 1000, 250 below 100.
// A full buffer frees four fifths of its blocks (kept_fifth.hpp). Figure: elapsed time.
// Written from a description of the benchmark. Differs: the kept blocks are freed at the end too;
// stamps, checked at the free, beside the first and last byte.
//
// SPDX-License-Identifier: MIT

#include "kept_fifth.hpp"

namespace {

constexpr size_t calls_default = 10000;
constexpr size_t base_end = 1000;
constexpr size_t blocks_per_run = 10;
constexpr size_t slots_min = 10;

size_t run_length(size_t bytes) {
  return blocks_per_run * (bytes < 1000 ? 5 : 1) * (bytes < 100 ? 5 : 1);
}

struct Sh6 {
  size_t slots;   // per thread
  size_t rounds;  // per thread
  bench::PaddedCounter blocks[bench::threads_max];
  bench::PaddedCounter peak_bytes[bench::threads_max];
  bench::StartGate gate;

  void operator()(size_t thread) {
    gate.wait();
    bench::KeptFifth buffer(slots);
    uint64_t identity = uint64_t{thread} << 40;
    for (size_t round = 0; round < rounds; round++) {
      for (size_t base = 1; base < base_end; base = base * 3 / 2 + 1) {
        for (size_t bytes = base; bytes > 0; bytes /= 2) {
          for (size_t left = run_length(bytes); left > 0; left--)
            buffer.add(bytes, bench::tag_of(++identity));
        }
      }
    }
    buffer.free_all();
    blocks[thread].set(static_cast<int64_t>(buffer.added()));
    peak_bytes[thread].set(static_cast<int64_t>(buffer.live_bytes_peak()));
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const size_t threads = 2 * arguments.threads(bench::cores());
  const size_t calls = arguments.count("calls", calls_default);
  arguments.finish();
  if (threads > bench::threads_max) {
    bench::leave(bench::exit_wrong_arguments, "too many threads");
  }
  static Sh6 work;
  work.slots = calls / threads < slots_min ? slots_min : calls / threads;
  work.rounds = bench::scaled(static_cast<double>(calls / threads), scale);

  bench::Team<Sh6> team(threads, work);
  const double start_s = work.gate.open(threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t blocks = 0;
  uint64_t peak = 0;
  for (size_t thread = 0; thread < threads; thread++) {
    blocks += static_cast<uint64_t>(work.blocks[thread].get());
    peak += static_cast<uint64_t>(work.peak_bytes[thread].get());
  }
  bench::Result result("B7 sh6bench-like", threads, elapsed_s, "s", false, 2 * blocks, elapsed_s);
  result.count("peak_requested_bytes", peak);
  result.print();
  return 0;
}
