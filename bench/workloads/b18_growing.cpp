// B18, growing: blocks that grow from nothing to a quarter megabyte, every other one freed.
//
// Measures: page supply for ever larger sizes, and the reuse of the holes that smaller blocks
// leave.
// Method: pairs of blocks of 16 i bytes for i = 0, step, 2 step ... below 15000, stamped (one write
// per page). When the second block of a pair exists the first is freed. Then the second blocks are
// freed in reverse, and the allocator is asked to trim. Each thread has every T-th pair. Figure:
// milliseconds per round, trim included.
// Differs from its model: several rounds, every second pair only (step 4 instead of 2: half the
// memory); stamps instead of zero bytes, checked before each free.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t index_end = 15000;
constexpr size_t step_default = 4;
constexpr size_t bytes_per_index = 16;
constexpr double rounds_default = 4;

struct Growing {
  size_t threads;
  size_t step;
  size_t pairs;
  bench::Slot* kept;
  bench::StartGate* gate;

  void operator()(size_t thread) {
    gate->wait();
    for (size_t pair = thread; pair < pairs; pair += threads) {
      const size_t bytes = pair * step * bytes_per_index;
      bench::Slot first;
      first.fill(bytes, bench::tag_of(2 * pair));
      kept[pair].fill(bytes, bench::tag_of(2 * pair + 1));
      first.empty();
    }
    const size_t own = (pairs - thread + threads - 1) / threads;
    for (size_t left = own; left > 0; left--) kept[thread + (left - 1) * threads].empty();
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  static Growing work;
  work.threads = arguments.threads(bench::cores());
  work.step = arguments.count("step", step_default);
  const size_t rounds = bench::scaled(arguments.real("rounds", rounds_default), scale);
  arguments.finish();
  work.pairs = (index_end + work.step - 1) / work.step;
  if (work.threads > work.pairs) bench::leave(bench::exit_wrong_arguments, "too few pairs");
  work.kept = bench::take_array<bench::Slot>(work.pairs);

  double elapsed_s = 0;
  for (size_t round = 0; round < rounds; round++) {
    bench::StartGate gate;
    work.gate = &gate;
    bench::Team<Growing> team(work.threads, work);
    const double start_s = gate.open(work.threads);
    team.join();
    bench::trim(bench::TrimTime::each_round);
    elapsed_s += bench::now_s() - start_s;
  }
  bench::give(work.kept);

  uint64_t live = work.pairs * sizeof(bench::Slot);
  for (size_t pair = 0; pair < work.pairs; pair++) live += pair * work.step * bytes_per_index;
  const uint64_t ops = 4 * work.pairs * rounds;
  bench::Result result("B18 growing", work.threads, elapsed_s * 1e3 / static_cast<double>(rounds),
                       "ms/round", false, ops, elapsed_s);
  result.count("peak_requested_bytes", live);
  result.print();
  return 0;
}
