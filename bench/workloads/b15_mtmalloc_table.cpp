// B15, mtmalloc table: malloc and free of one uniform random size, for several thread counts.
//
// Measures: how the cost of one pair grows with the size limit and with more threads than cores. No
// block lives long and none is touched.
// Method: for 2, 4, 8, 16 and 32 threads (--only N: for N alone), each thread repeatedly draws a
// size in [0, max], allocates it and frees it. Figures: nanoseconds of processor time per pair,
// that is, wall time times the cores in use over all pairs (ns_t02 and so on), and their mean. A
// pair includes the drawing of the size, as in the model; all threads draw the same sizes.
// Differs from its model: the threads share the pairs, so that each column takes the same time.
// Before the timed part two threads fill, check and free a few stamped blocks.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t thread_counts[] = {2, 4, 8, 16, 32};
constexpr size_t columns_max = sizeof thread_counts / sizeof thread_counts[0];
constexpr double pairs_default = 6e6;  // per thread count, of all threads
constexpr size_t seed = 42;
constexpr size_t checked_blocks = 16;
constexpr size_t checked_rounds = 4;
constexpr size_t checking_threads = 2;  // with more threads the touched blocks would be the peak

struct Pairs {
  size_t size_max;
  size_t pairs_per_thread;
  bench::StartGate gate;

  // Odd rounds use small blocks: sizes above a page are few among these few draws.
  void fill_and_check(size_t thread) const {
    bench::Slot slots[checked_blocks];
    bench::Random random(seed + thread);
    for (size_t round = 0; round < checked_rounds; round++) {
      for (bench::Slot& slot : slots) {
        const size_t limit = round % 2 == 0 ? size_max : 1024;
        slot.fill(random.below(limit + 1), bench::tag_of(random.next()));
      }
      for (bench::Slot& slot : slots) slot.empty();
    }
  }

  void operator()(size_t thread) {
    if (thread < checking_threads) fill_and_check(thread);
    bench::Random random(seed);
    gate.wait();
    for (size_t left = pairs_per_thread; left > 0; left--)
      bench::give(bench::take(random.below(size_max + 1)));
  }
};

// Seconds for all pairs on this many threads.
double run(size_t threads, size_t size_max, double pairs) {
  Pairs work{};
  work.size_max = size_max;
  work.pairs_per_thread = bench::scaled(pairs / static_cast<double>(threads), 1);
  bench::Team<Pairs> team(threads, work);
  const double start_s = work.gate.open(threads);
  team.join();
  return bench::now_s() - start_s;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double pairs = arguments.real("pairs", pairs_default) * arguments.real("scale", 1);
  const size_t cores = arguments.threads(bench::cores());  // the table fixes the thread counts
  const size_t size_max = arguments.count("max", 65536);
  const char* only_text = arguments.text("only", nullptr);
  const size_t only = only_text == nullptr ? 0 : arguments.count("only", 1);
  arguments.finish();
  if (only > bench::threads_max) bench::leave(bench::exit_wrong_arguments, "too many threads");

  // Column after column; --only selects one.
  size_t counts[columns_max];
  size_t columns = 0;
  for (const size_t threads : thread_counts) counts[columns++] = threads;
  if (only != 0) {
    counts[0] = only;
    columns = 1;
  }
  double ns[columns_max];
  double elapsed_s = 0;
  double ns_sum = 0;
  for (size_t column = 0; column < columns; column++) {
    const size_t busy = counts[column] < cores ? counts[column] : cores;
    const double seconds = run(counts[column], size_max, pairs);
    ns[column] = seconds * 1e9 * static_cast<double>(busy) / pairs;
    elapsed_s += seconds;
    ns_sum += ns[column];
  }
  const size_t threads_most = counts[columns - 1];
  bench::Result result("B15 mtmalloc table", threads_most, ns_sum / static_cast<double>(columns),
                       "ns/pair", false, static_cast<uint64_t>(2 * pairs) * columns, elapsed_s);
  for (size_t column = 0; column < columns; column++) {
    char key[16];
    std::snprintf(key, sizeof key, "ns_t%02zu", counts[column]);
    result.number(key, ns[column]);
  }
  result.count("size_max", size_max);
  result.count("peak_requested_bytes", threads_most * size_max);
  result.print();
  return 0;
}
