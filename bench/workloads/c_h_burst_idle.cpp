// Complaint h: a burst, then nothing: the memory stays with the idle process.
//
// Measures: the share of the peak that is still resident after all blocks are freed and no thread
// calls the allocator any more. Work that waits for a call never happens. Also whether a trim by
// one thread reaches the caches of the others.
// Method: eight threads fill 33 MB each with stamped blocks of 16 to 4096 bytes, meet, and free
// all, twelve times; then they sleep. The figure is the resident share of the peak after --idle
// seconds (default 2, times --scale). Then main trims and reads the share again 100 ms later
// (share_after_trim). The timed part is the bursts.
//
// SPDX-License-Identifier: MIT

#include <semaphore.h>

#include "workload.hpp"

namespace {

constexpr size_t threads_default = 8;
constexpr double bytes_per_thread_default = 33e6;
constexpr size_t size_min = 16;
constexpr size_t size_max = 4096;
constexpr double idle_default_s = 2;
constexpr double after_trim_s = 0.1;
constexpr size_t bursts = 12;

struct Burst {
  size_t bytes_per_thread;
  size_t slots_per_thread;
  bench::PaddedCounter ops[bench::threads_max];
  bench::PaddedCounter live_bytes[bench::threads_max];
  bench::Slot* tables[bench::threads_max];
  bench::StartGate gate;
  pthread_barrier_t all_met;
  long rss_peak_kib;
  sem_t burst_done;
  sem_t may_end[bench::threads_max];

  size_t fill(size_t thread, bench::Random& random) {
    bench::Slot* slots = tables[thread];
    size_t count = 0;
    size_t bytes = 0;
    for (; bytes < bytes_per_thread && count < slots_per_thread; count++) {
      const uint64_t draw = random.next();
      slots[count].fill(size_min + (draw >> 40) % (size_max - size_min), bench::tag_of(draw));
      bytes += slots[count].bytes;
    }
    live_bytes[thread].set(static_cast<int64_t>(bytes));
    return count;
  }

  void operator()(size_t thread) {
    bench::Random random(thread + 3);
    gate.wait();
    for (size_t burst = 0; burst < bursts; burst++) {
      const size_t count = fill(thread, random);
      pthread_barrier_wait(&all_met);
      if (thread == 0) rss_peak_kib = bench::rss_now_kib();
      pthread_barrier_wait(&all_met);
      for (size_t at = 0; at < count; at++) tables[thread][at].empty();
      ops[thread].add(static_cast<int64_t>(2 * count));
    }
    sem_post(&burst_done);
    sem_wait(&may_end[thread]);
  }
};

double share_of(long rss_kib, long base_kib, long peak_kib) {
  const double rise_kib = static_cast<double>(peak_kib - base_kib);
  const double left_kib = static_cast<double>(rss_kib > base_kib ? rss_kib - base_kib : 0);
  return rise_kib > 0 ? left_kib / rise_kib : 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const size_t threads = arguments.threads(threads_default);
  const double idle_s = arguments.real("idle", idle_default_s) * scale;
  static Burst work;
  work.bytes_per_thread =
      bench::scaled(arguments.real("bytes", bytes_per_thread_default), scale < 1 ? scale : 1);
  arguments.finish();
  // The tables are not part of the burst: static, and touched before the base is read.
  work.slots_per_thread = work.bytes_per_thread / ((size_min + size_max) / 2) * 11 / 10 + 64;
  for (size_t thread = 0; thread < threads; thread++) {
    work.tables[thread] = bench::take_array<bench::Slot>(work.slots_per_thread);
    std::memset(static_cast<void*>(work.tables[thread]), 0,
                work.slots_per_thread * sizeof(bench::Slot));
    sem_init(&work.may_end[thread], 0, 0);
  }
  sem_init(&work.burst_done, 0, 0);
  pthread_barrier_init(&work.all_met, nullptr, static_cast<unsigned>(threads));

  bench::Team<Burst> team(threads, work);
  const long base_kib = bench::rss_now_kib();
  const double start_s = work.gate.open(threads);
  for (size_t thread = 0; thread < threads; thread++) sem_wait(&work.burst_done);
  const double elapsed_s = bench::now_s() - start_s;
  const long at_once_kib = bench::rss_now_kib();
  bench::sleep_s(idle_s);
  const long idle_kib = bench::rss_now_kib();
  bench::trim(bench::TrimTime::untimed);
  bench::sleep_s(after_trim_s);
  const long trimmed_kib = bench::rss_now_kib();
  for (size_t thread = 0; thread < threads; thread++) sem_post(&work.may_end[thread]);
  team.join();

  uint64_t ops = 0;
  uint64_t live = 0;
  for (size_t thread = 0; thread < threads; thread++) {
    ops += static_cast<uint64_t>(work.ops[thread].get());
    live += static_cast<uint64_t>(work.live_bytes[thread].get());
    live += work.slots_per_thread * sizeof(bench::Slot);
    bench::give(work.tables[thread]);
  }
  bench::Result result("Ch burst, then idle", threads,
                       share_of(idle_kib, base_kib, work.rss_peak_kib), "share of peak", false, ops,
                       elapsed_s);
  result.number("idle_s", idle_s);
  result.number("share_at_once", share_of(at_once_kib, base_kib, work.rss_peak_kib));
  result.number("share_after_trim", share_of(trimmed_kib, base_kib, work.rss_peak_kib));
  result.count("rss_peak_kib", static_cast<uint64_t>(work.rss_peak_kib));
  result.count("peak_requested_bytes", live);
  result.print();
  return 0;
}
