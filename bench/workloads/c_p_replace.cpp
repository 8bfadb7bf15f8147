// Complaint p: blocks that are replaced at random: large ones, and small ones that another thread
// frees.
//
// Measures: for large blocks, how often their memory is faulted in anew. For small ones, how much
// memory lies in caches of threads, on the way back, or in slabs that are hardly used.
// Method: a table of slots. Each thread takes a random slot, frees its block, also one of another
// thread, and leaves a new one. Sizes are uniform from --min to --max; one byte a page is written.
// Figure: thousands of replacements per second. minor_faults of the runner tells the rest.
//
// SPDX-License-Identifier: MIT

#include "live_peak.hpp"
#include "workload.hpp"

namespace {

constexpr double steps_default = 1000;
constexpr size_t slots_max = size_t{1} << 20;

struct Replacing {
  size_t threads;
  size_t slots;
  size_t size_min, size_max;
  size_t steps_each;
  std::atomic<bench::Slot*> table[slots_max];
  bench::Slot* spare[bench::threads_max];
  bench::LivePeak live_peak;
  bench::StartGate gate;

  void operator()(size_t thread) {
    bench::Random random(thread + 19);
    bench::Slot* own = spare[thread];
    int64_t live = 0;
    gate.wait();
    for (size_t step = 0; step < steps_each; step++) {
      const uint64_t draw = random.next();
      own->fill(size_min + random.below(size_max - size_min + 1), bench::tag_of(draw));
      live += own->bytes;
      const size_t index = random.below(slots);
      own = table[index].exchange(own, std::memory_order_acq_rel);
      if (own->block == nullptr) continue;
      live -= own->bytes;  // also of another thread's block: the sum of all threads is right
      own->empty();
      if (step % 64 == 0) live_peak.sample(thread, threads, live);
    }
    live_peak.sample(thread, threads, live);
    spare[thread] = own;
  }
};

Replacing work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.threads = arguments.threads(1);
  work.slots = arguments.count("slots", 20);
  work.size_min = arguments.count("min", size_t{5} << 20);
  work.size_max = arguments.count("max", size_t{25} << 20);
  const size_t steps = bench::scaled(arguments.real("steps", steps_default), scale);
  arguments.finish();
  if (work.slots > slots_max || work.size_max < work.size_min || work.size_max > UINT32_MAX) {
    bench::leave(bench::exit_wrong_arguments, "--slots, --min or --max is out of range");
  }
  work.steps_each = steps / work.threads + 1;
  auto* const slots = bench::take_array<bench::Slot>(work.slots + work.threads);
  std::memset(static_cast<void*>(slots), 0, (work.slots + work.threads) * sizeof(bench::Slot));
  for (size_t slot = 0; slot < work.slots; slot++) work.table[slot].store(&slots[slot]);
  for (size_t thread = 0; thread < work.threads; thread++)
    work.spare[thread] = &slots[work.slots + thread];

  bench::Team<Replacing> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;
  for (size_t slot = 0; slot < work.slots + work.threads; slot++) slots[slot].empty();
  bench::give(slots);

  const uint64_t done = work.threads * work.steps_each;
  bench::Result result("Cp replace", work.threads, static_cast<double>(done) / elapsed_s / 1e3,
                       "k replacements/s", true, 2 * done, elapsed_s);
  result.count("peak_requested_bytes", work.live_peak.bytes(work.threads) +
                                           (work.slots + work.threads) * sizeof(bench::Slot));
  result.print();
  return 0;
}
