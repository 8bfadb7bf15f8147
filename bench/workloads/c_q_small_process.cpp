// Complaint q: small processes. Hundreds of them run on a machine, each with a few megabytes.
//
// Measures: the peak memory of a process whose threads have few blocks, of a few sizes.
// Method: each thread fills its share of --bytes with blocks of --kinds sizes (16 bytes to 1 KiB,
// written in full), and replaces random ones. Tables lie in mapped memory. Figure: RSS / live.
//
// SPDX-License-Identifier: MIT

#include <sys/mman.h>

#include "live_peak.hpp"
#include "workload.hpp"

namespace {

constexpr double bytes_default = 8e6;  // of all threads
constexpr size_t threads_default = 2;
constexpr double steps_default = 1e6;  // of each thread
constexpr uint32_t sizes[] = {16, 32, 48, 64, 128, 256, 512, 1024};
constexpr size_t sizes_count = sizeof sizes / sizeof sizes[0];

struct SmallProcess {
  size_t threads;
  size_t kinds;
  size_t bytes_each;
  size_t slots_each;
  size_t steps;
  bench::Slot* tables[bench::threads_max];
  bench::LivePeak live_peak;
  bench::StartGate gate;
  pthread_barrier_t all_met;
  long rss_kib = 0;         // written by thread 0 while the others wait
  uint64_t live_bytes = 0;  // the same
  bench::PaddedCounter live[bench::threads_max];

  uint32_t draw_size(bench::Random& random) const { return sizes[random.below(kinds)]; }

  void operator()(size_t thread) {
    bench::Slot* const slots = tables[thread];
    bench::Random random(thread + 7);
    int64_t bytes = 0;
    size_t count = 0;
    const auto put = [&](bench::Slot& slot) {
      slot.bytes = draw_size(random);
      slot.tag = bench::tag_of(random.next());
      slot.block = bench::take(slot.bytes);
      std::memset(slot.block, 0, slot.bytes);
      bench::stamp(slot.block, slot.bytes, slot.tag);
      bytes += slot.bytes;
    };
    gate.wait();
    while (bytes < static_cast<int64_t>(bytes_each) && count < slots_each) put(slots[count++]);
    for (size_t step = 0; step < steps; step++) {
      bench::Slot& slot = slots[random.below(count)];
      bytes -= slot.bytes;
      slot.empty();
      put(slot);
      if (step % 1024 == 0) live_peak.sample(thread, threads, bytes);
    }
    live_peak.sample(thread, threads, bytes);
    live[thread].set(bytes);
    pthread_barrier_wait(&all_met);
    if (thread == 0) {
      rss_kib = bench::rss_now_kib();
      for (size_t other = 0; other < threads; other++)
        live_bytes += static_cast<uint64_t>(live[other].get());
    }
    pthread_barrier_wait(&all_met);
    for (size_t at = 0; at < count; at++) slots[at].empty();
  }
};

SmallProcess work;

bench::Slot* mapped_slots(size_t count) {
  void* const memory = mmap(nullptr, count * sizeof(bench::Slot), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) bench::leave(bench::exit_no_memory, "mmap failed");
  return static_cast<bench::Slot*>(memory);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.threads = arguments.threads(threads_default);
  work.kinds = arguments.count("kinds", sizes_count);
  const double bytes = arguments.real("bytes", bytes_default);
  work.steps = bench::scaled(arguments.real("steps", steps_default), scale);
  arguments.finish();
  if (work.kinds > sizes_count) {
    bench::leave(bench::exit_wrong_arguments, "--kinds is out of range");
  }
  size_t sum = 0;
  for (size_t kind = 0; kind < work.kinds; kind++) sum += sizes[kind];
  work.bytes_each = static_cast<size_t>(bytes) / work.threads;
  work.slots_each = work.bytes_each / (sum / work.kinds) * 11 / 10 + 64;
  pthread_barrier_init(&work.all_met, nullptr, static_cast<unsigned>(work.threads));
  for (size_t thread = 0; thread < work.threads; thread++)
    work.tables[thread] = mapped_slots(work.slots_each);

  bench::Team<SmallProcess> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;
  const uint64_t ops = 2 * work.steps * work.threads;
  bench::Result result(
      "Cq small process", work.threads,
      static_cast<double>(work.rss_kib) * 1024 / static_cast<double>(work.live_bytes), "RSS/live",
      false, ops, elapsed_s);
  result.count("peak_requested_bytes", work.live_peak.bytes(work.threads) +
                                           work.threads * work.slots_each * sizeof(bench::Slot));
  result.print();
  return 0;
}
