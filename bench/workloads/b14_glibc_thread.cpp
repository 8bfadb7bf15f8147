// B14, glibc thread: each thread replaces random slots of its own for a fixed time.
//
// Measures: throughput of private free and malloc pairs. Sizes are mostly small and sometimes
// large. Sizes and order are prepared, so random numbers cost nothing.
// Method: 1024 slots a thread, all empty at first. 8000 sizes between 4 and 32768 with a density
// that falls with the square of the size, and 4096 slot numbers, are drawn before. A step frees the
// next slot's block and fills it with the next size. Figure: steps per second of all threads.
// Differs from its model: blocks are stamped and checked. Main sleeps and then stops the threads by
// a flag, not by a signal handler.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t slots_per_thread = 1024;
constexpr size_t sizes_count = 8000;
constexpr size_t order_count = 4096;
constexpr double size_min = 4;
constexpr double size_max = 32768;
constexpr double model_s = 2;  // the model's duration, the base of the relative time

struct GlibcThread {
  size_t threads;
  uint32_t sizes[sizes_count];
  uint32_t order[order_count];
  std::atomic<bool> shared_is_stopped{false};
  bench::PaddedCounter steps[bench::threads_max];
  bench::PaddedCounter live_bytes[bench::threads_max];
  bench::StartGate gate;

  void make_tables() {
    bench::Random random(88);
    for (uint32_t& size : sizes) {
      const double share = static_cast<double>(random.below(1u << 24)) / (1 << 24);
      size = static_cast<uint32_t>(1 / ((1 / size_max - 1 / size_min) * share + 1 / size_min));
    }
    for (uint32_t& slot : order) slot = random.below(slots_per_thread);
  }

  void operator()(size_t thread) {
    auto* slots = bench::take_array<bench::Slot>(slots_per_thread);
    for (size_t at = 0; at < slots_per_thread; at++) slots[at] = {nullptr, 0, 0};
    int64_t live = 0;
    uint64_t step = 0;
    size_t size_at = 0;
    gate.wait();
    for (; !shared_is_stopped.load(std::memory_order_relaxed); step++) {
      bench::Slot& slot = slots[order[step % order_count]];
      live += static_cast<int64_t>(sizes[size_at]) - slot.bytes;
      slot.empty();
      slot.fill(sizes[size_at], bench::tag_of((uint64_t{thread} << 40) + step));
      if (++size_at == sizes_count) size_at = 0;
    }
    for (size_t at = 0; at < slots_per_thread; at++) slots[at].empty();
    bench::give(slots);
    steps[thread].set(static_cast<int64_t>(step));
    live_bytes[thread].set(live);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double seconds = arguments.real("seconds", 1.5) * arguments.real("scale", 1);
  static GlibcThread work;
  work.threads = arguments.threads(bench::cores());
  arguments.finish();
  work.make_tables();

  bench::Team<GlibcThread> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  bench::sleep_s(seconds);
  work.shared_is_stopped.store(true, std::memory_order_relaxed);
  const double elapsed_s = bench::now_s() - start_s;
  team.join();

  uint64_t steps = 0;
  uint64_t live = work.threads * slots_per_thread * sizeof(bench::Slot);
  for (size_t thread = 0; thread < work.threads; thread++) {
    steps += static_cast<uint64_t>(work.steps[thread].get());
    live += static_cast<uint64_t>(work.live_bytes[thread].get());
  }
  const double steps_per_s = static_cast<double>(steps) / elapsed_s;
  bench::Result result("B14 glibc thread", work.threads, steps_per_s, "steps/s", true, 2 * steps,
                       elapsed_s);
  result.number("relative_time", 1e9 / (steps_per_s * model_s));
  result.count("peak_requested_bytes", live);
  result.print();
  return 0;
}
