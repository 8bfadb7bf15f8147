// Complaint m: most calls are fast, and a few are not.
//
// Measures: the time of single calls of malloc and free, and the cause of the long ones
// (call_watch.hpp), under one load of five.
// Method: --load steady: each thread replaces random blocks of 16 bytes to 64 KiB among 4096.
// burst: each thread takes 20,000 small blocks, frees them in another order and rests for 20 ms.
// churn: chains of threads. Each lives for 500 blocks, frees the blocks of the thread before it and
// leaves its own.
// trim: one thread fills 64 MB with blocks of 64 KiB to 1 MiB, frees them and makes the allocator
// return them, again and again. The others do the steady load, and only their calls are timed.
// frame: each thread takes 1500 blocks of 16 to 1023 bytes a frame. Of them 1200 live until the
// frame's end and 300 for ten frames; a frame begins each 2 ms. The requests of ten frames repeat,
// after ten periods of warm-up. --memory bounded or cache: on a bounded instance.
// Figure: microseconds of the 99.99th percentile of all calls that were not preempted
// (relative_time: milliseconds). Fills before the steady load are not timed. In frame,
// worst_repeated_ns is the longest call that recurs. Of each place in the period the shortest of
// all periods counts. So delays by the machine drop out, and those by the allocator stay.
//
// SPDX-License-Identifier: MIT

#include <algorithm>

#include "bounded_memory.hpp"
#include "call_watch.hpp"
#include "live_peak.hpp"
#include "workload.hpp"

namespace {

constexpr double steady_ops_default = 4e6;
constexpr size_t slots_each = 4096;
constexpr size_t burst_blocks = 20000;
constexpr double bursts_default = 30;
constexpr double burst_rest_s = 0.02;
constexpr double churn_threads_default = 2000;
constexpr size_t churn_blocks = 500;
constexpr double trim_rounds_default = 20;
constexpr double trim_bytes = 64e6;
constexpr size_t trim_blocks_max = 1024;
constexpr double periods_default = 40;
constexpr size_t warm_periods = 10;
constexpr size_t period_frames = 10;
constexpr size_t frame_blocks = 1500;
constexpr size_t short_blocks = 1200;
constexpr double frame_s = 0.002;
constexpr size_t frame_bytes_max = 1024;
constexpr size_t small_sizes_power = 9;  // most sizes lie below 16 << 9

// Eight mebibytes for each pool. A cache holds what a frame may need of one class.
constexpr size_t frame_pools = 32;
constexpr size_t frame_capacities[frame_pools] = {
    1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024,
    1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024};
constexpr bench::BoundedSetup frame_setup = {frame_pools, size_t{8} << 20, frame_capacities,
                                             TALUS_BOUNDED_HOT, TALUS_BOUNDED_TOUCH};

enum class Load { steady, burst, churn, trim, frame };
constexpr const char* load_names[] = {"steady", "burst", "churn", "trim", "frame"};

// Each octave of sizes is as frequent as the next; one block in 200 has 8 to 64 KiB.
size_t size_of(bench::Random& random) {
  const uint64_t draw = random.next();
  if (draw % 200 == 0) return (size_t{8} << 10) + random.below(56 << 10);
  const size_t octave = size_t{16} << ((draw >> 32) % small_sizes_power);
  return octave + random.below(octave);
}

struct Slots {
  bench::Slot at[burst_blocks];
};

struct Tail {
  Load load;
  bench::Memory memory;
  size_t threads;
  size_t workers;  // with timed calls
  size_t amount;   // of the load's own unit, for each worker
  bench::StartGate gate;
  bench::CallWatch watches[bench::threads_max];
  bench::LivePeak live_peak;
  std::atomic<bool> shared_is_stopped{false};
  uint64_t trimmed_peak = 0;

  void operator()(size_t thread) {
    if (load == Load::frame) {
      bench::run_with(memory, *this, thread);
      return;
    }
    bench::HeapMemory heap;
    run(heap, thread);
  }

  template <class Blocks>
  void run(Blocks& blocks, size_t thread) {
    static Slots slots[bench::threads_max];  // all zero: only the used ones have pages
    Worker<Blocks> worker{
        *this, blocks, watches[thread], slots[thread].at, thread, bench::Random(1000 + thread)};
    if (load == Load::steady || load == Load::trim) worker.fill();
    gate.wait();
    if (load == Load::trim && thread >= workers) {
      release_repeatedly();
    } else {
      worker.watch.begin();
      worker.work();
    }
    worker.empty();
  }

  template <class Blocks>
  struct Worker {
    Tail& tail;
    Blocks& blocks;
    bench::CallWatch& watch;
    bench::Slot* slots;
    size_t thread;
    bench::Random random;
    int64_t live = 0;

    void take(bench::Slot& slot, size_t bytes) {
      slot.bytes = static_cast<uint32_t>(bytes);
      slot.tag = bench::tag_of(random.next());
      slot.block = watch.take(blocks, bytes);
      bench::stamp(slot.block, bytes, slot.tag);
      live += static_cast<int64_t>(bytes);
    }

    void give(bench::Slot& slot) {
      if (slot.block == nullptr) return;
      bench::check_stamp(slot.block, slot.bytes, slot.tag);
      live -= static_cast<int64_t>(slot.bytes);
      watch.give(blocks, slot.block);
      slot.block = nullptr;
    }

    void note_live() { tail.live_peak.sample(thread, tail.workers, live); }

    void fill() {
      for (size_t at = 0; at < slots_each; at++) {
        slots[at].fill(size_of(random), bench::tag_of(random.next()));
        live += slots[at].bytes;
      }
      note_live();
    }

    // Blocks that still live, without the clock.
    void empty() {
      for (size_t at = 0; at < burst_blocks; at++) {
        if (slots[at].block == nullptr) continue;
        bench::check_stamp(slots[at].block, slots[at].bytes, slots[at].tag);
        blocks.give(slots[at].block);
        slots[at].block = nullptr;
      }
    }

    void work() {
      if (tail.load == Load::steady) {
        for (size_t left = tail.amount; left > 0; left--) replace_one(left);
      } else if (tail.load == Load::trim) {
        size_t number = 0;
        while (!tail.shared_is_stopped.load(std::memory_order_acquire)) replace_one(number++);
      } else if (tail.load == Load::burst) {
        for (size_t left = tail.amount; left > 0; left--) burst();
      } else if (tail.load == Load::churn) {
        churn();
      } else {
        frames();
      }
    }

    void replace_one(size_t number) {
      bench::Slot& slot = slots[random.below(slots_each)];
      give(slot);
      take(slot, size_of(random));
      watch.take_nothing();
      if (number % 1024 == 0) note_live();
    }

    void burst() {
      for (size_t at = 0; at < burst_blocks; at++) {
        take(slots[at], 16 + random.below(1008));
        watch.take_nothing();
      }
      note_live();
      const size_t first = random.below(burst_blocks);
      for (size_t at = 0; at < burst_blocks; at++) give(slots[(first + at) % burst_blocks]);
      bench::sleep_s(burst_rest_s);
    }

    void churn() {
      for (size_t left = tail.amount; left > 0; left--) {
        pthread_t id;
        if (pthread_create(&id, nullptr, &Worker::live_once, this) != 0) {
          bench::leave(bench::exit_no_memory, "pthread_create failed");
        }
        pthread_join(id, nullptr);
      }
    }

    static void* live_once(void* argument) {
      auto& worker = *static_cast<Worker*>(argument);
      worker.watch.begin();
      for (size_t at = 0; at < churn_blocks; at++) {
        worker.give(worker.slots[at]);
        worker.take(worker.slots[at], size_of(worker.random));
        worker.watch.take_nothing();
      }
      worker.note_live();
      return nullptr;
    }

    // ---- frames: blocks of ten frames, of which each frame replaces its own

    void frames() {
      static uint32_t shortest[bench::threads_max][2 * period_frames * frame_blocks];
      uint32_t* places = shortest[thread];
      const uint64_t seed = 5000 + thread;
      double due_s = bench::now_s();
      for (size_t period = 0; period < warm_periods + tail.amount; period++) {
        const bool is_warm = period >= warm_periods;
        if (period == warm_periods) watch.forget();
        for (size_t frame = 0; frame < period_frames; frame++) {
          random = bench::Random(seed * period_frames + frame);
          uint32_t* place = places + 2 * frame * frame_blocks;
          const bool is_first = period <= warm_periods;
          const auto note = [&] {
            const uint64_t ticks = watch.last_call();
            const auto took = static_cast<uint32_t>(ticks < UINT32_MAX ? ticks : UINT32_MAX);
            if (is_first || took < *place) *place = took;
            place++;
          };
          bench::Slot* longer = slots + frame_blocks + frame * (frame_blocks - short_blocks);
          for (size_t at = 0; at < frame_blocks; at++) {
            const bool is_short = at < short_blocks;
            bench::Slot& slot = is_short ? slots[at] : longer[at - short_blocks];
            if (!is_short && slot.block != nullptr) {
              give(slot);
              note();
            }
            take(slot, 16 + random.below(frame_bytes_max - 16));
            note();
            if (is_warm) watch.take_nothing();
          }
          note_live();
          for (size_t at = 0; at < short_blocks; at++) {
            give(slots[at * 7 % short_blocks]);
            note();
          }
          due_s += frame_s;
          const double left_s = due_s - bench::now_s();
          if (left_s > 0) {
            bench::sleep_s(left_s);
          } else {
            due_s = bench::now_s();
          }
        }
      }
      uint32_t worst = 0;
      for (size_t at = 0; at < 2 * period_frames * frame_blocks; at++) {
        if (places[at] > worst) worst = places[at];
      }
      tail.worst_repeated[thread] = worst;
    }
  };

  uint32_t worst_repeated[bench::threads_max] = {};

  void release_repeatedly() {
    static bench::Slot large[trim_blocks_max];
    bench::Random random(9000);
    for (size_t left = amount; left > 0; left--) {
      size_t count = 0;
      uint64_t taken = 0;
      for (; static_cast<double>(taken) < trim_bytes && count < trim_blocks_max; count++) {
        large[count].fill((64 << 10) + random.below(960 << 10), bench::tag_of(random.next()));
        taken += large[count].bytes;
      }
      for (size_t at = 0; at < count; at++) large[at].empty();
      bench::trim(bench::TrimTime::each_round);
      if (taken > trimmed_peak) trimmed_peak = taken;
    }
    shared_is_stopped.store(true, std::memory_order_release);
  }
};

Tail work;

Load load_of(const char* name) {
  for (size_t at = 0; at < sizeof load_names / sizeof *load_names; at++) {
    if (std::strcmp(name, load_names[at]) == 0) return static_cast<Load>(at);
  }
  bench::leave(bench::exit_wrong_arguments, "--load: steady, burst, churn, trim or frame");
}

// Of the load's own unit, for each worker: operations are shared out, the others are not.
size_t amount_of(Load load, double scale, size_t workers) {
  switch (load) {
    case Load::steady:
      return bench::scaled(steady_ops_default / static_cast<double>(workers), scale);
    case Load::burst:
      return bench::scaled(bursts_default, scale);
    case Load::churn:
      return bench::scaled(churn_threads_default / static_cast<double>(workers), scale);
    case Load::trim:
      return bench::scaled(trim_rounds_default, scale);
    case Load::frame:
      break;
  }
  return bench::scaled(periods_default, scale);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.load = load_of(arguments.text("load", "steady"));
  work.threads = arguments.threads(bench::cores());
  work.memory = bench::choose_memory(arguments, frame_setup);
  arguments.finish();
  if (work.load == Load::trim && work.threads < 2) work.threads = 2;
  work.workers = work.load == Load::trim ? work.threads - 1 : work.threads;
  work.amount = amount_of(work.load, scale, work.workers);
  bench::tick_clock.calibrate();

  bench::Team<Tail> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  static bench::WatchReport report;
  uint32_t worst_repeated = 0;
  for (size_t thread = 0; thread < work.workers; thread++) {
    report.add(work.watches[thread]);
    worst_repeated = std::max(worst_repeated, work.worst_repeated[thread]);
  }
  const double tail_us = report.tail_ns() / 1e3;
  bench::Result result("Cm tail", work.threads, tail_us, "us", false, report.calls(), elapsed_s);
  result.number("relative_time", tail_us / 1e3);
  report.print_to(result);
  if (work.load == Load::frame) {
    result.number("worst_repeated_ns", bench::tick_clock.ns(worst_repeated));
  }
  bench::add_bounded_counts(work.memory, result);
  result.count("peak_requested_bytes", work.live_peak.bytes(work.workers) + work.trimmed_peak);
  result.print();
  return 0;
}
