// B19, heavy threads: hundreds of chains of short threads, all at once on one small table.
//
// Measures: survival first: hundreds of live threads, tens of thousands of births and deaths, and
// blocks that another thread nearly always frees.
// Method: 1000 shared slots. Each of 500 chains starts a thread that walks all slots. An empty slot
// gets a block of up to 499 bytes; a full slot is emptied and its block freed. Then the thread
// starts its successor, detached, fifty times. Figure: threads per second.
// Differs from its model: blocks are stamped and checked, and their size follows from the slot.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t slots = 1000;
constexpr size_t successors = 50;
constexpr size_t size_limit = 500;
constexpr size_t stack_bytes = size_t{128} << 10;  // 500 of them at once
constexpr double chains_default = 500;

struct HeavyThreads {
  std::atomic<void*> table[slots];
  std::atomic<size_t> shared_chains_ended{0};
  std::atomic<uint64_t> shared_ops{0};  // each thread adds to it once
  pthread_attr_t detached;

  static size_t bytes_of(size_t slot) { return bench::tag_of(slot) % size_limit; }

  static void release(void* block, size_t slot) {
    bench::check_stamp(block, bytes_of(slot), bench::tag_of(slot));
    bench::give(block);
  }

  void walk() {
    uint64_t ops = 0;
    for (size_t slot = 0; slot < slots; slot++) {
      void* block = table[slot].exchange(nullptr, std::memory_order_acq_rel);
      if (block != nullptr) {
        release(block, slot);
        ops++;
        continue;
      }
      block = bench::take(bytes_of(slot));
      bench::stamp(block, bytes_of(slot), bench::tag_of(slot));
      void* expected = nullptr;
      ops++;
      if (table[slot].compare_exchange_strong(expected, block, std::memory_order_acq_rel)) continue;
      release(block, slot);
      ops++;
    }
    shared_ops.fetch_add(ops, std::memory_order_relaxed);
  }
};

HeavyThreads work;

void start_thread(size_t successors_left);

void* live(void* argument) {
  const size_t successors_left = reinterpret_cast<size_t>(argument);
  work.walk();
  if (successors_left > 0) {
    start_thread(successors_left - 1);
  } else {
    work.shared_chains_ended.fetch_add(1, std::memory_order_release);
  }
  return nullptr;
}

void start_thread(size_t successors_left) {
  pthread_t id;
  void* argument = reinterpret_cast<void*>(successors_left);
  if (pthread_create(&id, &work.detached, &live, argument) != 0) {
    bench::leave(bench::exit_no_memory, "pthread_create failed");
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(1);  // accepted for a uniform command line; --chains sets it
  const size_t chains = bench::scaled(arguments.real("chains", chains_default), scale);
  arguments.finish();
  pthread_attr_init(&work.detached);
  pthread_attr_setdetachstate(&work.detached, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&work.detached, stack_bytes);

  const double start_s = bench::now_s();
  for (size_t chain = 0; chain < chains; chain++) start_thread(successors);
  while (work.shared_chains_ended.load(std::memory_order_acquire) < chains) bench::sleep_s(0.0005);
  const double elapsed_s = bench::now_s() - start_s;
  uint64_t live_bytes = 0;
  for (size_t slot = 0; slot < slots; slot++) {
    void* block = work.table[slot].load();
    if (block != nullptr) HeavyThreads::release(block, slot);
    live_bytes += HeavyThreads::bytes_of(slot);
  }

  const double threads = static_cast<double>(chains * (successors + 1));
  bench::Result result("B19 heavy threads", chains, threads / elapsed_s, "threads/s", true,
                       work.shared_ops.load(), elapsed_s);
  result.count("threads_started", chains * (successors + 1));
  result.count("peak_requested_bytes", live_bytes);
  result.print();
  return 0;
}
