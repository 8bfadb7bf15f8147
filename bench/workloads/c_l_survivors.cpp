// Complaint l: many sizes, changing distributions, a few survivors: the heap of a cache or database
// after a long time.
//
// Measures: fragmentation: resident over live memory after each phase replaces most blocks by
// blocks of another size, and after all but a few blocks are freed.
// Method: each thread has its share of 128 MB in blocks of log-normal size. In a phase nine of ten
// blocks, chosen at random, are freed. Blocks around the phase's own mean (64 to 1024 bytes, up and
// down) replace them until the live bytes are the same again. All threads meet after a phase, and
// RSS is read. At the end all but one block in a thousand are freed. Figure: RSS / live, mean of
// all phases but the first. rss_per_live_last and _worst are single phases. survivors_share is the
// resident share of the peak, after a trim.
//
// SPDX-License-Identifier: MIT

#include <cmath>

#include "workload.hpp"

namespace {

constexpr double live_bytes_default = 128e6;  // of all threads
constexpr double phases_default = 16;
constexpr double means[] = {128, 512, 64, 1024, 256};
constexpr size_t means_count = sizeof means / sizeof means[0];
constexpr double spread = 0.8;  // sigma of the logarithm
constexpr size_t sizes_count = 4096;
constexpr uint32_t size_max = 65536;
constexpr size_t mean_bytes_min = 48;  // of a block, in any phase: limits the number of slots
constexpr uint32_t kept_of_ten = 1;
constexpr uint32_t survivor_one_in = 1000;

struct Survivors {
  size_t threads;
  size_t phases;
  size_t bytes_per_thread;
  size_t slots_per_thread;
  uint32_t sizes[means_count][sizes_count];
  bench::Slot* slots[bench::threads_max];
  bench::PaddedCounter live_bytes[bench::threads_max];
  bench::PaddedCounter ops[bench::threads_max];
  bench::StartGate gate;
  pthread_barrier_t all_met;
  // Written by thread 0 while the others wait.
  double ratio_sum = 0;
  double ratio_last = 0;
  double ratio_worst = 0;
  long rss_peak_kib = 0;
  long rss_survivors_kib = 0;
  long table_kib = 0;  // of the slots, written by main before the start
  uint64_t live_peak = 0;

  // The sum of twelve uniform numbers minus six is close enough to normal for sizes.
  void make_sizes() {
    bench::Random random(1740);
    for (size_t phase = 0; phase < means_count; phase++) {
      for (uint32_t& size : sizes[phase]) {
        double normal = -6;
        for (int term = 0; term < 12; term++)
          normal += static_cast<double>(random.below(1u << 20)) / (1 << 20);
        const double drawn = means[phase] * std::exp(spread * normal - spread * spread / 2);
        size = drawn < 1 ? 1 : drawn > size_max ? size_max : static_cast<uint32_t>(drawn);
      }
    }
  }

  void operator()(size_t thread);
  void meet(size_t thread, size_t phase);
};

Survivors work;

// One thread's heap. Slots below count_ hold a block, all others are empty.
class Heap {
 public:
  explicit Heap(size_t thread) : thread_(thread), random_(thread + 77) {}

  void run_phase(size_t phase) {
    if (phase > 0) drop_all_but(kept_of_ten, 10);
    const uint32_t* sizes = work.sizes[phase % means_count];
    while (live_ < work.bytes_per_thread && count_ < work.slots_per_thread) {
      const uint64_t draw = random_.next();
      slots()[count_].fill(sizes[draw % sizes_count], bench::tag_of(draw));
      live_ += slots()[count_++].bytes;
      ops_++;
    }
    note();
  }

  // Keeps each block with the chance of `kept` in `of`, and moves it down to close the gap.
  void drop_all_but(uint32_t kept, uint32_t of) {
    size_t next = 0;
    for (size_t at = 0; at < count_; at++) {
      bench::Slot& slot = slots()[at];
      if (random_.below(of) < kept) {
        slots()[next++] = slot;
        continue;
      }
      live_ -= slot.bytes;
      slot.empty();
      ops_++;
    }
    count_ = next;
    note();
  }

 private:
  bench::Slot* slots() const { return work.slots[thread_]; }

  void note() const {
    work.live_bytes[thread_].set(static_cast<int64_t>(live_));
    work.ops[thread_].set(static_cast<int64_t>(ops_));
  }

  size_t thread_;
  bench::Random random_;
  size_t count_ = 0;
  size_t live_ = 0;
  uint64_t ops_ = 0;
};

void Survivors::meet(size_t thread, size_t phase) {
  pthread_barrier_wait(&all_met);
  if (thread == 0) {
    const long rss_kib = bench::rss_now_kib();
    uint64_t live = 0;
    for (size_t other = 0; other < threads; other++)
      live += static_cast<uint64_t>(live_bytes[other].get());
    // The table is resident in every phase, and is not part of the heap's live blocks.
    ratio_last = static_cast<double>(rss_kib - table_kib) * 1024 / static_cast<double>(live);
    if (phase > 0) ratio_sum += ratio_last;
    if (ratio_last > ratio_worst) ratio_worst = ratio_last;
    if (rss_kib > rss_peak_kib) rss_peak_kib = rss_kib;
    if (live > live_peak) live_peak = live;
  }
  pthread_barrier_wait(&all_met);
}

void Survivors::operator()(size_t thread) {
  Heap heap(thread);
  gate.wait();
  for (size_t phase = 0; phase < phases; phase++) {
    heap.run_phase(phase);
    meet(thread, phase);
  }
  heap.drop_all_but(1, survivor_one_in);
  pthread_barrier_wait(&all_met);
  if (thread == 0) {
    bench::trim(bench::TrimTime::each_round);
    rss_survivors_kib = bench::rss_now_kib();
  }
  pthread_barrier_wait(&all_met);
  heap.drop_all_but(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.threads = arguments.threads(bench::cores());
  const size_t phases = bench::scaled(arguments.real("phases", phases_default), scale);
  work.phases = phases < 2 ? 2 : phases;
  const double bytes = arguments.real("bytes", live_bytes_default) * (scale < 0.1 ? 0.1 : 1);
  arguments.finish();
  work.make_sizes();
  work.bytes_per_thread = bench::scaled(bytes / static_cast<double>(work.threads), 1);
  work.slots_per_thread = work.bytes_per_thread / mean_bytes_min + 64;
  pthread_barrier_init(&work.all_met, nullptr, static_cast<unsigned>(work.threads));
  const long base_kib = bench::rss_now_kib();
  for (size_t thread = 0; thread < work.threads; thread++) {
    work.slots[thread] = bench::take_array<bench::Slot>(work.slots_per_thread);
    std::memset(static_cast<void*>(work.slots[thread]), 0,
                work.slots_per_thread * sizeof(bench::Slot));
  }
  work.table_kib = bench::rss_now_kib() - base_kib;

  bench::Team<Survivors> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t ops = 0;
  for (size_t thread = 0; thread < work.threads; thread++) {
    ops += static_cast<uint64_t>(work.ops[thread].get());
    bench::give(work.slots[thread]);
  }
  bench::Result result("Cl survivors", work.threads,
                       work.ratio_sum / static_cast<double>(work.phases - 1), "RSS/live", false,
                       ops, elapsed_s);
  result.number("rss_per_live_last", work.ratio_last);
  result.number("rss_per_live_worst", work.ratio_worst);
  result.number("survivors_share", static_cast<double>(work.rss_survivors_kib - work.table_kib) /
                                       static_cast<double>(work.rss_peak_kib - work.table_kib));
  result.count("peak_requested_bytes",
               work.live_peak + work.threads * work.slots_per_thread * sizeof(bench::Slot));
  result.print();
  return 0;
}
