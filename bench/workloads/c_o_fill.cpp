// Complaint o: a heap that one or two threads fill at once, as a loader or a compiler does.
//
// Measures: what each byte of growth costs, in faults and huge pages, and whether a heap that was
// freed in order is as quick to fill again.
// Method: each thread fills its share of 2 GB with blocks of 1 to 500 bytes of random size, and
// frees them in the order in which they came; twice. Figure: millions of blocks per second.
//
// SPDX-License-Identifier: MIT

#include "live_peak.hpp"
#include "workload.hpp"

namespace {

constexpr double bytes_default = 2e9;  // of all threads
constexpr uint32_t size_max = 500;
constexpr size_t mean_bytes = size_max / 2;
constexpr size_t fills = 2;

struct Filling {
  size_t threads;
  size_t bytes_each;
  size_t slots_each;
  bench::Slot* tables[bench::threads_max];
  bench::PaddedCounter blocks[bench::threads_max];
  bench::LivePeak live_peak;
  bench::StartGate gate;

  void operator()(size_t thread) {
    bench::Slot* const slots = tables[thread];
    bench::Random random(thread + 41);
    gate.wait();
    for (size_t fill = 0; fill < fills; fill++) {
      size_t count = 0, bytes = 0;
      for (; bytes < bytes_each && count < slots_each; count++) {
        const uint64_t draw = random.next();
        slots[count].fill(1 + (draw >> 40) % size_max, bench::tag_of(draw));
        bytes += slots[count].bytes;
      }
      live_peak.sample(thread, threads, static_cast<int64_t>(bytes));
      for (size_t at = 0; at < count; at++) slots[at].empty();
      live_peak.sample(thread, threads, 0);
      blocks[thread].add(static_cast<int64_t>(count));
    }
  }
};

Filling work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.threads = arguments.threads(1);
  const size_t bytes = bench::scaled(arguments.real("bytes", bytes_default), scale);
  arguments.finish();
  work.bytes_each = bytes / work.threads;
  work.slots_each = work.bytes_each / mean_bytes * 11 / 10 + 64;
  for (size_t thread = 0; thread < work.threads; thread++)
    work.tables[thread] = bench::take_array<bench::Slot>(work.slots_each);

  bench::Team<Filling> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;
  uint64_t blocks = 0;
  for (size_t thread = 0; thread < work.threads; thread++) {
    blocks += static_cast<uint64_t>(work.blocks[thread].get());
    bench::give(work.tables[thread]);
  }
  bench::Result result("Co fill", work.threads, static_cast<double>(blocks) / elapsed_s / 1e6,
                       "M blocks/s", true, 2 * blocks, elapsed_s);
  result.count("peak_requested_bytes", work.live_peak.bytes(work.threads) +
                                           work.threads * work.slots_each * sizeof(bench::Slot));
  result.print();
  return 0;
}
