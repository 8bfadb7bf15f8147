// B17, smmalloc perf02: one thread with a moving window of ten thousand small blocks.
//
// Measures: malloc and free of small blocks in the order of a queue, each block written whole, with
// no other thread in the process.
// Method: a ring of 10000 slots. An operation allocates 16 to 255 bytes, fills them, stores the
// block at the head and frees the block at the tail, 9999 slots behind. Ten parts are timed one by
// one. Figure: nanoseconds per operation, mean of the parts; ci95_ns is half the width of the 95 %
// confidence interval of that mean. --memory bounded or cache: on a bounded instance with the pools
// and caches of the model. --threads N: N such windows at a time, for the curve over threads.
// Differs from its model: the fill is a byte of the block's number instead of one constant. The
// free checks the first and the last byte.
//
// SPDX-License-Identifier: MIT

#include <cmath>

#include "bounded_memory.hpp"

namespace {

constexpr size_t window = 10000;
constexpr size_t parts = 10;
constexpr double student_t_95 = 2.262;  // two-sided, nine degrees of freedom
constexpr double ops_default = 3e7;
constexpr size_t size_min = 16;
constexpr size_t sizes = 240;

// As in the model: eighteen pools of 48 MiB, and a cold cache of 512 blocks of each.
constexpr size_t capacities[18] = {512, 512, 512, 512, 512, 512, 512, 512, 512,
                                   512, 512, 512, 512, 512, 512, 512, 512, 512};
constexpr bench::BoundedSetup setup = {18, size_t{48} << 20, capacities, TALUS_BOUNDED_COLD};

template <class Blocks>
struct Ring {
  unsigned char* blocks[window];
  unsigned char bytes[window];
  unsigned char fills[window];
  size_t head;
  size_t tail;

  void push(Blocks& from, size_t size, uint32_t fill) {
    bytes[head] = static_cast<unsigned char>(size);
    fills[head] = static_cast<unsigned char>(fill);
    blocks[head] = static_cast<unsigned char*>(from.take(size));
    std::memset(blocks[head], fills[head], size);
    if (++head == window) head = 0;
  }

  void pop(Blocks& to) {
    const unsigned char* block = blocks[tail];
    if (block != nullptr && (block[0] != fills[tail] || block[bytes[tail] - 1] != fills[tail])) {
      bench::leave(bench::exit_wrong_data, "a block lost its fill: blocks overlap");
    }
    to.give(blocks[tail]);
    blocks[tail] = nullptr;
    if (++tail == window) tail = 0;
  }
};

struct Perf02 {
  size_t threads;
  size_t ops_per_part;
  bench::Memory memory;
  double ns[bench::threads_max][parts];
  double seconds[bench::threads_max];
  bench::StartGate gate;

  void operator()(size_t thread) { bench::run_with(memory, *this, thread); }

  template <class Blocks>
  void run(Blocks& blocks, size_t thread) {
    static Ring<Blocks> rings[bench::threads_max];  // all zero: only the used ones have pages
    Ring<Blocks>& ring = rings[thread];
    ring.head = window - 1;
    bench::Random random(2 + thread);
    if (threads != 1) gate.wait();
    for (double& part_ns : ns[thread]) {
      const double start_s = bench::now_s();
      for (size_t left = ops_per_part; left > 0; left--) {
        const uint64_t draw = random.next();
        ring.push(blocks, size_min + ((draw >> 32) * sizes >> 32), static_cast<uint32_t>(draw));
        ring.pop(blocks);
      }
      const double part_s = bench::now_s() - start_s;
      seconds[thread] += part_s;
      part_ns = part_s * 1e9 / static_cast<double>(ops_per_part);
    }
    for (size_t left = window; left > 0; left--) ring.pop(blocks);
  }
};

Perf02 work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double ops = arguments.real("ops", ops_default) * arguments.real("scale", 1);
  work.threads = arguments.threads(1);
  work.memory = bench::choose_memory(arguments, setup);
  arguments.finish();
  work.ops_per_part = bench::scaled(ops / parts, 1);

  double elapsed_s = 0;
  if (work.threads == 1) {
    work(0);  // no other thread in the process
    elapsed_s = work.seconds[0];
  } else {
    bench::Team<Perf02> team(work.threads, work);
    const double start_s = work.gate.open(work.threads);
    team.join();
    elapsed_s = bench::now_s() - start_s;
  }

  double mean = 0;
  double variance = 0;
  const size_t samples = parts * work.threads;
  for (size_t thread = 0; thread < work.threads; thread++) {
    for (const double part_ns : work.ns[thread]) mean += part_ns / static_cast<double>(samples);
  }
  for (const double part_ns : work.ns[0])
    variance += (part_ns - mean) * (part_ns - mean) / (parts - 1);
  const size_t all_ops = 2 * parts * work.ops_per_part * work.threads;
  bench::Result result("B17 smmalloc perf02", work.threads, mean, "ns/op", false, all_ops,
                       elapsed_s);
  if (work.threads == 1) result.number("ci95_ns", student_t_95 * std::sqrt(variance / parts));
  result.number("ops_per_s", static_cast<double>(all_ops) / elapsed_s);
  bench::add_bounded_counts(work.memory, result);
  result.count("peak_requested_bytes", window * (size_min + sizes / 2) * work.threads);
  result.print();
  return 0;
}
