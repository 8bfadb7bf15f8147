// B10, cache-scratch and cache-thrash: do small blocks of different threads share a cache line?
//
// Measures: passive and active false sharing. Passive (--mode scratch): a thread frees a block that
// main allocated beside the others' blocks. An allocator that reuses it puts threads on one line.
// Active (--mode thrash): the same without the blocks from main.
// Method: T threads. Each thread repeats `iterations` times: it allocates one object, writes and
// reads each of its bytes repetitions / T times, and frees it. The total work is constant, so the
// ideal time falls with T. The memory accesses are volatile: the loop is the workload.
// Differs from its model: the byte read must be the byte written, and a freed object must hold its
// last bytes.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t repetitions_per_look = 16384;
constexpr size_t looks_after_fence = 64;  // few beside the repetitions, and only reads

struct CacheLines {
  size_t threads;
  size_t iterations;
  size_t object_bytes;
  size_t repetitions;  // per thread and iteration
  void* handed[bench::threads_max];
  bench::StartGate gate;

  static void refuse() {
    bench::leave(bench::exit_wrong_data, "an object was changed by another thread");
  }

  // Threads write different values at the same time, so that a shared byte is noticed.
  unsigned char write_and_read(volatile unsigned char* bytes, size_t times, size_t thread) const {
    unsigned char value = 0;
    for (size_t repetition = 0; repetition < times; repetition++) {
      value = static_cast<unsigned char>(repetition * 2 + thread);
      for (size_t at = 0; at < object_bytes; at++) {
        bytes[at] = value;
        if (bytes[at] != value) refuse();
      }
    }
    return value;
  }

  // The store buffer serves a load right after the store, and hides another thread's write. So a
  // fence drains the buffer, and some loads follow. sched_yield is no alternative: beside other
  // load it costs a time slice, which would become the figure.
  void look_again(volatile unsigned char* bytes, unsigned char value) const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (size_t look = 0; look < looks_after_fence; look++) {
      for (size_t at = 0; at < object_bytes; at++) {
        if (bytes[at] != value) refuse();
      }
    }
  }

  void operator()(size_t thread) {
    gate.wait();
    if (handed[thread] != nullptr) bench::give(handed[thread]);
    for (size_t iteration = 0; iteration < iterations; iteration++) {
      void* object = bench::take(object_bytes);
      auto* bytes = static_cast<volatile unsigned char*>(object);
      for (size_t left = repetitions; left > 0;) {
        const size_t part = left < repetitions_per_look ? left : repetitions_per_look;
        look_again(bytes, write_and_read(bytes, part, thread));
        left -= part;
      }
      bench::give(object);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const char* mode = arguments.text("mode", "scratch");
  static CacheLines work;
  work.threads = arguments.threads(bench::cores());
  // --scale changes the number of objects. The time between two allocations belongs to the
  // workload.
  work.iterations = bench::scaled(static_cast<double>(arguments.count("iterations", 1000)), scale);
  work.object_bytes = arguments.count("object", 1);
  work.repetitions = arguments.count("repetitions", 2000000) / work.threads;
  arguments.finish();
  const bool is_scratch = std::strcmp(mode, "scratch") == 0;
  if (!is_scratch && std::strcmp(mode, "thrash") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--mode must be scratch or thrash");
  }
  for (size_t thread = 0; thread < work.threads; thread++) {
    work.handed[thread] = is_scratch ? bench::take(work.object_bytes) : nullptr;
  }

  bench::Team<CacheLines> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  const uint64_t ops = 2 * static_cast<uint64_t>(work.iterations) * work.threads;
  bench::Result result(is_scratch ? "B10 cache-scratch" : "B10 cache-thrash", work.threads,
                       elapsed_s, "s", false, ops, elapsed_s);
  result.count("peak_requested_bytes", work.threads * work.object_bytes);
  result.print();
  return 0;
}
