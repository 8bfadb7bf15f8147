// B3, larson: a server that runs for a fixed time, where each request thread passes its blocks to
// the next.
//
// Measures: allocation throughput for blocks that outlive their allocating thread, and the cost of
// thread birth and death inside an allocator.
// Method: T slices of C slots. Main fills all slots with random sizes, permutes them over the
// slices, and replaces 4*T*C random ones. Then T chains of detached threads run. A thread replaces
// rounds*C random slots of its slice, starts its successor on the same slice and ends. After the
// given seconds all chains stop. Figure: allocations per second of all chains.
// --sized 1: blocks come from operator new[] and are freed by operator delete[] with their size,
// both of the preloaded library. Without these exports malloc and free are used.
// Differs from its model: stamped and checked blocks instead of two written bytes.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

struct Slot {
  void* block;
  uint32_t bytes;
  uint32_t tag;
};

struct alignas(128) Slice {
  Slot* slots;
  uint64_t seed;
  uint64_t replaced;  // written by the chain's one live thread
  uint64_t threads_started;
};

// The sized operators of C++, looked up in the preloaded library. This program's runtime is linked
// statically, and its operators call malloc and free only.
struct SizedEntry {
  void* (*take)(size_t) = nullptr;
  void (*give)(void*, size_t) = nullptr;

  // False: the preloaded library does not export both.
  bool try_find() {
    take = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_DEFAULT, "_Znam"));
    give = reinterpret_cast<void (*)(void*, size_t)>(dlsym(RTLD_DEFAULT, "_ZdaPvm"));
    return take != nullptr && give != nullptr;
  }
};

struct Larson {
  size_t threads;
  size_t slots_per_slice;
  size_t rounds;
  size_t size_min;
  size_t size_max;
  bool is_sized;
  SizedEntry sized;
  Slot* slots;
  Slice slices[bench::threads_max];
  pthread_attr_t detached;
  std::atomic<bool> shared_is_stopped{false};
  std::atomic<size_t> shared_chains_ended{0};

  void fill(Slot& slot, bench::Random& random) const {
    slot.bytes = static_cast<uint32_t>(size_min + random.below(size_max - size_min));
    slot.tag = bench::tag_of(random.next());
    slot.block = is_sized ? sized.take(slot.bytes) : bench::take(slot.bytes);
    bench::stamp(slot.block, slot.bytes, slot.tag);
  }

  void empty(const Slot& slot) const {
    bench::check_stamp(slot.block, slot.bytes, slot.tag);
    if (is_sized) {
      sized.give(slot.block, slot.bytes);
    } else {
      bench::give(slot.block);
    }
  }
};

Larson work;

void start_thread(Slice& slice);

void* serve(void* argument) {
  Slice& slice = *static_cast<Slice*>(argument);
  bench::Random random(slice.seed + ++slice.threads_started);
  const size_t steps = work.rounds * work.slots_per_slice;
  size_t step = 0;
  // The stop flag is read between steps too, so that slow allocators stop in time.
  for (; step < steps && !work.shared_is_stopped.load(std::memory_order_relaxed); step++) {
    Slot& slot = slice.slots[random.below(work.slots_per_slice)];
    work.empty(slot);
    work.fill(slot, random);
  }
  slice.replaced += step;
  if (work.shared_is_stopped.load(std::memory_order_relaxed)) {
    work.shared_chains_ended.fetch_add(1, std::memory_order_release);
  } else {
    start_thread(slice);
  }
  return nullptr;
}

void start_thread(Slice& slice) {
  pthread_t id;
  if (pthread_create(&id, &work.detached, &serve, &slice) != 0) {
    bench::leave(bench::exit_no_memory, "pthread_create failed");
  }
}

void prepare(uint64_t seed) {
  const size_t slots = work.threads * work.slots_per_slice;
  work.slots = bench::take_array<Slot>(slots);
  bench::Random random(seed);
  for (size_t at = 0; at < slots; at++) work.fill(work.slots[at], random);
  bench::shuffle(work.slots, slots, random);
  for (size_t step = 0; step < 4 * slots; step++) {
    Slot& slot = work.slots[random.below(slots)];
    work.empty(slot);
    work.fill(slot, random);
  }
  for (size_t index = 0; index < work.threads; index++) {
    work.slices[index] = {work.slots + index * work.slots_per_slice, seed + (index << 32), 0, 0};
  }
}

uint64_t live_bytes() {
  uint64_t sum = 0;
  const size_t slots = work.threads * work.slots_per_slice;
  for (size_t at = 0; at < slots; at++) sum += work.slots[at].bytes;
  return sum + slots * sizeof(Slot);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double seconds = arguments.real("seconds", 1.5) * arguments.real("scale", 1);
  work.threads = arguments.threads(bench::cores());
  work.size_min = arguments.count("min", 8);
  work.size_max = arguments.count("max", 1000);
  work.slots_per_slice = arguments.count("chunks", 5000);
  work.rounds = arguments.count("rounds", 100);
  const size_t seed = arguments.count("seed", 4141);
  const bool is_sized = std::strcmp(arguments.text("sized", "0"), "0") != 0;
  arguments.finish();
  work.is_sized = is_sized && work.sized.try_find();
  if (work.size_max <= work.size_min) bench::leave(bench::exit_wrong_arguments, "max <= min");
  pthread_attr_init(&work.detached);
  pthread_attr_setdetachstate(&work.detached, PTHREAD_CREATE_DETACHED);
  prepare(seed);
  const uint64_t live_at_start = live_bytes();

  const double start_s = bench::now_s();
  for (size_t index = 0; index < work.threads; index++) start_thread(work.slices[index]);
  bench::sleep_s(seconds);
  work.shared_is_stopped.store(true, std::memory_order_relaxed);
  while (work.shared_chains_ended.load(std::memory_order_acquire) < work.threads) {
    bench::sleep_s(0.0005);
  }
  const double elapsed_s = bench::now_s() - start_s;

  const uint64_t live_at_end = live_bytes();
  uint64_t replaced = 0;
  uint64_t threads_started = 0;
  for (size_t index = 0; index < work.threads; index++) {
    replaced += work.slices[index].replaced;
    threads_started += work.slices[index].threads_started;
  }
  for (size_t at = 0; at < work.threads * work.slots_per_slice; at++) {
    work.empty(work.slots[at]);
  }
  const double throughput = static_cast<double>(replaced) / elapsed_s;
  bench::Result result(is_sized ? "B3s larson sized" : "B3 larson", work.threads, throughput,
                       "allocations/s", true, 2 * replaced, elapsed_s);
  result.number("relative_time", 1e9 / throughput);
  if (is_sized) result.count("has_sized_entry", work.is_sized);
  result.count("threads_started", threads_started);
  result.count("peak_requested_bytes", live_at_end > live_at_start ? live_at_end : live_at_start);
  result.print();
  return 0;
}
