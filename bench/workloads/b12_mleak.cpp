// B12, mleak: thousands of threads, each with one block.
//
// Measures: the cost of the birth and death of a thread inside an allocator, and whether memory of
// ended threads is lost. Blocks outlive their threads, and later threads free them.
// Method: 1000 shared slots. A round starts ten threads. Each allocates 16 zeroed words, swaps them
// into a random slot, frees the slot's old block and ends; then all are joined. Figure: threads per
// second; rss_growth_kib is the growth of RSS from a tenth of all rounds to the end.
// Differs from its model: the words hold the slot's number and are checked at the free.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t threads_per_round_default = 10;
constexpr size_t words = 16;
constexpr size_t slots = 1000;
constexpr double rounds_default = 3000;

struct Mleak {
  std::atomic<uint64_t*> table[slots];
  size_t round;

  static void release(uint64_t* block, size_t slot) {
    if (block == nullptr) return;
    for (size_t at = 0; at < words; at++) {
      if (block[at] == bench::tag_of(slot) + at) continue;
      bench::leave(bench::exit_wrong_data, "a word lost its value: blocks overlap");
    }
    bench::give(block);
  }

  void operator()(size_t thread) {
    bench::Random random((round << 10) + thread);
    const size_t slot = random.below(slots);
    auto* block = static_cast<uint64_t*>(bench::take_zeroed(words * sizeof(uint64_t)));
    for (size_t at = 0; at < words; at++) {
      if (block[at] != 0) bench::leave(bench::exit_wrong_data, "a zeroed block is not zero");
      block[at] = bench::tag_of(slot) + at;
    }
    release(table[slot].exchange(block, std::memory_order_acq_rel), slot);
  }
};

Mleak work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double rounds = arguments.real("rounds", rounds_default) * arguments.real("scale", 1);
  arguments.threads(threads_per_round_default);  // the method fixes it
  const size_t threads = arguments.count("per-round", threads_per_round_default);
  arguments.finish();
  if (threads > bench::threads_max) bench::leave(bench::exit_wrong_arguments, "too many threads");
  const size_t rounds_count = bench::scaled(rounds, 1);

  long rss_early_kib = 0;
  const double start_s = bench::now_s();
  for (work.round = 0; work.round < rounds_count; work.round++) {
    if (work.round == rounds_count / 10) rss_early_kib = bench::rss_now_kib();
    bench::Team<Mleak> team(threads, work);
    team.join();
  }
  const double elapsed_s = bench::now_s() - start_s;
  const double growth_kib = static_cast<double>(bench::rss_now_kib() - rss_early_kib);
  for (size_t slot = 0; slot < slots; slot++) Mleak::release(work.table[slot].load(), slot);

  const double started = static_cast<double>(threads * rounds_count);
  bench::Result result("B12 mleak", threads, started / elapsed_s, "threads/s", true,
                       static_cast<uint64_t>(2 * started), elapsed_s);
  result.count("threads_started", static_cast<uint64_t>(started));
  result.number("rss_growth_kib", growth_kib);
  result.count("peak_requested_bytes", (slots + threads) * words * sizeof(uint64_t));
  result.print();
  return 0;
}
