// B1, same thread: every thread allocates many blocks of random size, then frees its own.
//
// Measures: the pure path of allocate and free with no sharing, page supply, and the space a heap
// needs beyond the requested bytes before the first free.
// Method: N = bytes / (size_max / 2) blocks in all, sizes uniform in [0, size_max]; thread i has
// the indices i, i+T, ... It allocates and stamps (one write per page, so all is resident). It
// waits at a barrier for the others and frees in the order of allocation. The clock runs from the
// gate until the index arrays are freed and the trim is done.
// Differs from its model: stamps instead of zero bytes, checked before each free.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr double bytes_default = 8e8;  // the model uses 2e9; this keeps peak RSS below 1 GB

struct SameThread {
  size_t blocks;
  size_t threads;
  void** pointers;
  uint32_t* sizes;
  bench::StartGate gate;
  pthread_barrier_t all_allocated;

  void operator()(size_t thread) {
    gate.wait();
    for (size_t index = thread; index < blocks; index += threads) {
      pointers[index] = bench::take(sizes[index]);
      bench::stamp(pointers[index], sizes[index], bench::tag_of(index));
    }
    pthread_barrier_wait(&all_allocated);
    for (size_t index = thread; index < blocks; index += threads) {
      bench::check_stamp(pointers[index], sizes[index], bench::tag_of(index));
      bench::give(pointers[index]);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const size_t threads = arguments.threads(bench::cores());
  const size_t size_max = arguments.count("size", 500);
  const double bytes = arguments.real("bytes", bytes_default) * scale;
  arguments.finish();

  static SameThread work;
  work.blocks = bench::scaled(bytes / (static_cast<double>(size_max) / 2), 1);
  work.threads = threads;
  work.pointers = bench::take_array<void*>(work.blocks);
  work.sizes = bench::take_array<uint32_t>(work.blocks);
  bench::Random random(0);
  uint64_t requested = work.blocks * (sizeof(void*) + sizeof(uint32_t));
  for (size_t index = 0; index < work.blocks; index++) {
    work.pointers[index] = nullptr;
    work.sizes[index] = random.below(size_max + 1);
    requested += work.sizes[index];
  }
  pthread_barrier_init(&work.all_allocated, nullptr, static_cast<unsigned>(threads));

  bench::Team<SameThread> team(threads, work);
  const double start_s = work.gate.open(threads);
  team.join();
  bench::give(work.pointers);
  bench::give(work.sizes);
  bench::trim(bench::TrimTime::once);
  const double elapsed_s = bench::now_s() - start_s;

  const uint64_t ops = 2 * static_cast<uint64_t>(work.blocks);
  bench::Result result("B1 same thread", threads, static_cast<double>(ops) / elapsed_s, "ops/s",
                       true, ops, elapsed_s);
  result.count("size_max", size_max);
  result.count("peak_requested_bytes", requested);
  result.print();
  return 0;
}
