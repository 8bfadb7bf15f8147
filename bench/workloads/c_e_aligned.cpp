// Complaint e: aligned blocks.
//
// Measures: the cost of posix_memalign in time and, the more common complaint, in space. An
// allocator that rounds each block up to a page or more shows here.
// Method: each thread replaces random slots of its 4096. Alignment: 16 to 4096, all powers of two
// equally likely, and 64 KiB for one block in 64; size: uniform in [1, 2048]. Figure: nanoseconds
// per pair of one thread; rss_per_live is the final RSS over the requested bytes. Each block's
// alignment is checked at the allocation, its stamp at the free.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t slots_per_thread = 4096;
constexpr unsigned alignment_bits_min = 4;
constexpr unsigned alignment_bits_count = 9;
constexpr size_t alignment_large = size_t{64} << 10;
constexpr unsigned large_one_in = 64;
constexpr size_t size_max = 2048;
constexpr double steps_default = 6e6;  // of all threads

struct Aligned {
  size_t threads;
  size_t steps_per_thread;
  bench::PaddedCounter live_bytes[bench::threads_max];
  bench::StartGate gate;
  pthread_barrier_t all_done;
  long rss_kib;

  static void fill(bench::Slot& slot, bench::Random& random) {
    const uint64_t draw = random.next();
    size_t alignment = size_t{1} << (alignment_bits_min + (draw >> 8) % alignment_bits_count);
    if (draw % large_one_in == 0) alignment = alignment_large;
    slot.bytes = 1 + random.below(size_max);
    slot.tag = bench::tag_of(draw);
    slot.block = bench::take_aligned(alignment, slot.bytes);
    bench::stamp(slot.block, slot.bytes, slot.tag);
  }

  void operator()(size_t thread) {
    bench::Random random(thread + 5);
    auto* slots = bench::take_array<bench::Slot>(slots_per_thread);
    for (size_t at = 0; at < slots_per_thread; at++) fill(slots[at], random);
    gate.wait();
    for (size_t step = 0; step < steps_per_thread; step++) {
      bench::Slot& slot = slots[random.below(slots_per_thread)];
      slot.empty();
      fill(slot, random);
    }
    int64_t live = slots_per_thread * sizeof(bench::Slot);
    for (size_t at = 0; at < slots_per_thread; at++) live += slots[at].bytes;
    live_bytes[thread].set(live);
    pthread_barrier_wait(&all_done);
    if (thread == 0) rss_kib = bench::rss_now_kib();
    pthread_barrier_wait(&all_done);
    for (size_t at = 0; at < slots_per_thread; at++) slots[at].empty();
    bench::give(slots);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double steps = arguments.real("steps", steps_default) * arguments.real("scale", 1);
  static Aligned work;
  work.threads = arguments.threads(bench::cores());
  arguments.finish();
  work.steps_per_thread = bench::scaled(steps / static_cast<double>(work.threads), 1);
  pthread_barrier_init(&work.all_done, nullptr, static_cast<unsigned>(work.threads));

  bench::Team<Aligned> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t live = 0;
  for (size_t thread = 0; thread < work.threads; thread++)
    live += static_cast<uint64_t>(work.live_bytes[thread].get());
  const double pairs = static_cast<double>(work.steps_per_thread);
  bench::Result result("Ce aligned", work.threads, elapsed_s * 1e9 / pairs, "ns/pair", false,
                       2 * work.steps_per_thread * work.threads, elapsed_s);
  result.number("rss_per_live",
                static_cast<double>(work.rss_kib) * 1024 / static_cast<double>(live));
  result.count("peak_requested_bytes", live);
  result.print();
  return 0;
}
