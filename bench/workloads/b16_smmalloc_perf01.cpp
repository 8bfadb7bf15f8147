// B16, smmalloc perf01: five threads replace a hundred thousand small blocks each, in order.
//
// Measures: free and malloc of small blocks of mixed size in a heap far larger than any cache, in
// the order of age, without sharing and without touching the blocks.
// Method: sizes 16 + (draw mod 64), prepared. Each thread fills its slots, and in each round walks
// all slots: free, malloc of the next size. Then it frees all. Every thread is timed by itself.
// Figure: mallocs and frees per second of all threads; also the slowest, fastest and mean thread.
// --memory bounded or cache: on a bounded instance with the pools and caches of the model.
// Differs from its model: plain malloc, no aligned one; fewer rounds. One round before the timed
// part stamps each block and checks the stamp; the timed part leaves the memory untouched.
//
// SPDX-License-Identifier: MIT

#include "bounded_memory.hpp"

namespace {

constexpr size_t sizes_count = size_t{1} << 20;
constexpr size_t slots_per_thread = 100000;
constexpr size_t rounds_default = 150;  // the model has 300

// As in the model: ten pools of 64 MiB, and a warm cache for all blocks.
constexpr size_t capacities[10] = {16384,  131072, 131072, 131072, 131072,
                                   131072, 131072, 131072, 131072, 131072};
constexpr bench::BoundedSetup setup = {10, size_t{64} << 20, capacities, TALUS_BOUNDED_WARM};

struct Perf01 {
  size_t rounds;
  unsigned char sizes[sizes_count];
  void** slots[bench::threads_max];
  double seconds[bench::threads_max];
  bench::Memory memory;
  bench::StartGate gate;

  template <class Blocks>
  void fill_and_check(Blocks& blocks, size_t thread) {
    const auto tag_at = [thread](size_t at) { return bench::tag_of((thread << 32) + at); };
    void** own = slots[thread];
    for (size_t at = 0; at < slots_per_thread; at++) {
      own[at] = blocks.take(sizes[at]);
      bench::stamp(own[at], sizes[at], tag_at(at));
    }
    for (size_t at = 0; at < slots_per_thread; at++) {
      bench::check_stamp(own[at], sizes[at], tag_at(at));
      blocks.give(own[at]);
    }
  }

  void operator()(size_t thread) { bench::run_with(memory, *this, thread); }

  template <class Blocks>
  void run(Blocks& blocks, size_t thread) {
    void** own = slots[thread];
    fill_and_check(blocks, thread);
    gate.wait();
    const double start_s = bench::now_s();
    size_t size_at = 0;
    for (size_t at = 0; at < slots_per_thread; at++) own[at] = blocks.take(sizes[size_at++]);
    for (size_t round = 0; round < rounds; round++) {
      for (size_t at = 0; at < slots_per_thread; at++) {
        blocks.give(own[at]);
        own[at] = blocks.take(sizes[size_at++ % sizes_count]);
      }
    }
    for (size_t at = 0; at < slots_per_thread; at++) blocks.give(own[at]);
    seconds[thread] = bench::now_s() - start_s;
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  static Perf01 work;
  const size_t threads = arguments.threads(5);
  work.rounds =
      bench::scaled(static_cast<double>(arguments.count("rounds", rounds_default)), scale);
  work.memory = bench::choose_memory(arguments, setup);
  arguments.finish();
  bench::Random random(1306);
  for (unsigned char& size : work.sizes) size = static_cast<unsigned char>(16 + random.below(64));
  for (size_t thread = 0; thread < threads; thread++)
    work.slots[thread] = bench::take_array<void*>(slots_per_thread);

  bench::Team<Perf01> team(threads, work);
  const double start_s = work.gate.open(threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  const double ops_each = static_cast<double>(2 * slots_per_thread * (work.rounds + 1));
  double slowest = 0;
  double fastest = 0;
  double sum = 0;
  for (size_t thread = 0; thread < threads; thread++) {
    const double ops_per_s = ops_each / work.seconds[thread];
    if (thread == 0 || ops_per_s < slowest) slowest = ops_per_s;
    if (ops_per_s > fastest) fastest = ops_per_s;
    sum += ops_per_s;
    bench::give(work.slots[thread]);
  }
  const double ops = ops_each * static_cast<double>(threads);
  bench::Result result("B16 smmalloc perf01", threads, ops / elapsed_s, "ops/s", true,
                       static_cast<uint64_t>(ops), elapsed_s);
  result.number("thread_ops_per_s_min", slowest);
  result.number("thread_ops_per_s_max", fastest);
  result.number("thread_ops_per_s_mean", sum / static_cast<double>(threads));
  uint64_t live = 0;
  for (size_t at = 0; at < slots_per_thread; at++) live += work.sizes[at] + sizeof(void*);
  result.count("peak_requested_bytes", live * threads);
  bench::add_bounded_counts(work.memory, result);
  result.print();
  return 0;
}
