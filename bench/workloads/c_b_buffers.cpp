// Complaint b: buffers of 32 KiB to 8 MiB in a loop, and sizes with a jump in cost.
//
// Measures: whether freed memory that is needed again at once stays with the process, since each
// return costs page faults. It also measures cliffs: a size that costs much more per byte than its
// neighbour.
// Method: mode `loop`: each thread keeps four buffers. A step frees one and allocates another of
// log-uniform size in [32 KiB, 8 MiB], written whole. Figure: microseconds per MiB written.
// Mode `sweep`: 150 sizes in even ratios from 1 KiB to 64 MiB. For each size one buffer is held.
// Others are allocated, written whole and freed until 256 MiB have been written, after one untimed
// pass. Figure: the largest ratio of the cost per byte of two neighbouring sizes; cliff_bytes is
// its size. Both modes report page faults per MiB.
//
// SPDX-License-Identifier: MIT

#include <sys/resource.h>

#include <cmath>

#include "filled_block.hpp"

namespace {

constexpr size_t buffers_per_thread = 4;
constexpr double loop_bytes_min = 32 << 10;
constexpr double loop_bytes_max = 8 << 20;
constexpr double mib = 1 << 20;
constexpr double loop_mib_default = 24576;  // of all threads
constexpr size_t sweep_sizes = 150;
constexpr double sweep_bytes_min = 1 << 10;
constexpr double sweep_bytes_max = 64 << 20;
constexpr double sweep_mib_default = 256;  // per size
constexpr bench::Touch whole = bench::Touch::whole;

uint64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt);
}

struct Totals {
  double figure;
  const char* unit;
  uint64_t ops;
  double elapsed_s;
  double mib_written;
  uint64_t cliff_bytes;
  uint64_t live_peak;
};

struct Loop {
  double mib_per_thread;
  bench::StartGate gate;
  bench::PaddedCounter steps[bench::threads_max];
  bench::PaddedCounter live_peak[bench::threads_max];

  void operator()(size_t thread) {
    bench::FilledBlock buffers[buffers_per_thread];
    bench::Random random(thread);
    size_t bytes_left = static_cast<size_t>(mib_per_thread * mib);
    int64_t live = 0;
    gate.wait();
    while (bytes_left > 0) {
      bench::FilledBlock& buffer = buffers[random.below(buffers_per_thread)];
      live -= static_cast<int64_t>(buffer.bytes);
      buffer.release(whole);
      const double share = static_cast<double>(random.below(1u << 24)) / (1 << 24);
      const double size = loop_bytes_min * std::pow(loop_bytes_max / loop_bytes_min, share);
      buffer.make(static_cast<size_t>(size), static_cast<unsigned char>(random.below(256)), whole);
      live += static_cast<int64_t>(buffer.bytes);
      if (live > live_peak[thread].get()) live_peak[thread].set(live);
      bytes_left -= buffer.bytes < bytes_left ? buffer.bytes : bytes_left;
      steps[thread].add(1);
    }
    for (bench::FilledBlock& buffer : buffers) buffer.release(whole);
  }
};

Totals run_loop(size_t threads, double mib_written) {
  static Loop work;
  work.mib_per_thread = mib_written / static_cast<double>(threads);
  bench::Team<Loop> team(threads, work);
  const double start_s = work.gate.open(threads);
  team.join();
  Totals totals{};
  totals.elapsed_s = bench::now_s() - start_s;
  for (size_t thread = 0; thread < threads; thread++) {
    totals.ops += 2 * static_cast<uint64_t>(work.steps[thread].get());
    totals.live_peak += static_cast<uint64_t>(work.live_peak[thread].get());
  }
  totals.figure = totals.elapsed_s * 1e6 / mib_written;
  totals.unit = "us/MiB";
  totals.mib_written = mib_written;
  return totals;
}

Totals run_sweep(double mib_per_size) {
  Totals totals{};
  totals.unit = "ratio";
  double cost_before = 0;
  for (size_t at = 0; at < sweep_sizes; at++) {
    const double share = static_cast<double>(at) / (sweep_sizes - 1);
    const size_t bytes =
        static_cast<size_t>(sweep_bytes_min * std::pow(sweep_bytes_max / sweep_bytes_min, share));
    const size_t turns = bench::scaled(mib_per_size * mib / static_cast<double>(bytes), 1);
    bench::FilledBlock held;
    bench::FilledBlock buffer;
    held.make(bytes, 0x5A, whole);
    double start_s = 0;
    for (size_t turn = 0; turn <= turns; turn++) {
      if (turn == 1) start_s = bench::now_s();
      buffer.make(bytes, static_cast<unsigned char>(turn), whole);
      buffer.release(whole);
    }
    const double seconds = bench::now_s() - start_s;
    held.release(whole);
    const double written = static_cast<double>(turns * bytes);
    const double cost = seconds / written;
    if (at > 0) {
      const double ratio = cost > cost_before ? cost / cost_before : cost_before / cost;
      if (ratio > totals.figure) totals.cliff_bytes = bytes;
      if (ratio > totals.figure) totals.figure = ratio;
    }
    cost_before = cost;
    totals.ops += 2 * (turns + 2);
    totals.elapsed_s += seconds;
    totals.mib_written += written / mib;
    totals.live_peak = 2 * bytes;
  }
  return totals;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const char* mode = arguments.text("mode", "loop");
  const bool is_loop = std::strcmp(mode, "loop") == 0;
  const size_t threads = arguments.threads(is_loop ? bench::cores() : 1);
  const double mib_written =
      scale * arguments.real("mib", is_loop ? loop_mib_default : sweep_mib_default);
  arguments.finish();
  if (!is_loop && std::strcmp(mode, "sweep") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--mode must be loop or sweep");
  }
  const uint64_t faults_before = page_faults();
  const Totals totals = is_loop ? run_loop(threads, mib_written) : run_sweep(mib_written);
  const uint64_t faults = page_faults() - faults_before;

  bench::Result result(is_loop ? "Cb buffers" : "Cb size sweep", is_loop ? threads : 1,
                       totals.figure, totals.unit, false, totals.ops, totals.elapsed_s);
  result.number("faults_per_mib", static_cast<double>(faults) / totals.mib_written);
  if (!is_loop) result.count("cliff_bytes", totals.cliff_bytes);
  result.count("peak_requested_bytes", totals.live_peak);
  result.print();
  return 0;
}
