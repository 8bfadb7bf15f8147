// SPDX-License-Identifier: MIT
// stress/soak: hours of changing phases with bounded live memory; resident memory has no slope.
//
// Not a registered test: run it as `TALUS_TEST_SECONDS=3600 build/release/tests/stress/stress soak`
// (target `soak`). Each phase has its own mix of sizes, its own number of threads and its own way
// of handing blocks on. Each ends with the same number of blocks live: about 24 MiB, of which a
// quarter is replaced. After each phase one line says what is live, held and resident. The slope of
// resident memory over the second half must be below 1 % of its mean for the whole half.
#include "footprint.hpp"

namespace stress::soak {

using stress::kib;
using stress::mib;

constexpr size_t kept_count = 48 * 1024;
talus::core::Atomic<void*> kept[kept_count];  // blocks of about 512 bytes that live for many phases
stress::Exchange<2048> exchange;

struct Phase {
  const char* name;
  int threads;
  size_t bytes_max;
  size_t large_every;  // one block of large_every is a large one
  size_t remote_of_8;  // of eight blocks, the number that goes to another thread
};
constexpr Phase phases[] = {
    {"small", 4, 256, 10000, 2},        {"medium", 3, 8 * kib, 2000, 4},
    {"large", 2, 32 * kib, 20, 2},      {"remote", 6, 2 * kib, 5000, 8},
    {"one thread", 1, 4 * kib, 500, 0}, {"many threads", 32, 1 * kib, 5000, 4},
};

void work(const Phase& phase, uint64_t seed, const double end) {
  stress::Random random{seed};
  void* own[128] = {};
  while (stress::now_seconds() < end) {
    for (int i = 0; i < 100; i++) {
      const bool is_large = random.below(phase.large_every) == 0;
      void* block = stress::make_filled(
          random, is_large ? 40 * kib + random.below(2 * mib) : random.size(phase.bytes_max));
      if (random.below(8) < phase.remote_of_8) {
        stress::check_and_release(exchange.swap(random, block));
      } else {
        void*& place = own[random.below(128)];
        stress::check_and_release(place);
        place = block;
      }
    }
  }
  for (void* block : own) stress::check_and_release(block);
  // A quarter of what lives on is replaced, by whichever thread.
  for (size_t i = 0; i < kept_count / 4 / static_cast<size_t>(phase.threads); i++) {
    void* fresh = stress::make_filled(random, 16 + random.below(992));
    stress::check_and_release(kept[random.below(kept_count)].exchange_acq_rel(fresh));
  }
}

void run_phase(const Phase& phase, uint64_t number, double seconds) {
  const double end = stress::now_seconds() + seconds;
  stress::run_threads(phase.threads, [&](int index) {
    work(phase, number * 1000 + static_cast<uint64_t>(index), end);
  });
  exchange.empty();
}

int run() {
  talus::core::process_starts();
  stress::Random random{1};
  for (auto& block : kept) block.store_relaxed(stress::make_filled(random, 16 + random.below(992)));
  constexpr size_t phase_count = sizeof phases / sizeof phases[0];
  const double start = stress::now_seconds();
  const double total = stress::test_seconds();
  const double phase_seconds = total / 240 < 0.05 ? 0.05 : total / 240 > 30 ? 30 : total / 240;
  // One sample a full cycle of phases: the same point of the cycle each time.
  stress::Series late;
  double late_first = 0;
  for (uint64_t number = 0; stress::now_seconds() - start < total; number++) {
    const Phase& phase = phases[number % phase_count];
    run_phase(phase, number, phase_seconds);
    const talus::core::HeapTotals totals = talus::core::collect_totals();
    const size_t resident = stress::resident_bytes();
    printf(
        "%8.1f s %-12s live %6zu KiB, given %6zu + dirty %6zu KiB, resident %6zu KiB, "
        "%zu heaps\n",
        stress::now_seconds() - start, phase.name, totals.live() / kib,
        totals.space.given_bytes / kib, totals.dirty / kib, resident / kib, totals.heap_count);
    fflush(stdout);
    if (number % phase_count != phase_count - 1) continue;
    if (stress::now_seconds() - start < total / 2) continue;
    if (late.count() == 0) late_first = static_cast<double>(resident);
    late.add(static_cast<double>(resident));
  }
  const double drift = late.slope() * late.count();
  printf("second half: %d cycles, resident %.0f KiB at first, mean %.0f KiB, drift %.0f KiB\n",
         late.count(), late_first / kib, late.mean() / kib, drift / kib);
  STRESS_CHECK(late.count() >= 5, "too short for a slope");
  if (!stress::is_sanitized) STRESS_CHECK(drift <= late.mean() / 100, "%.0f KiB", drift / kib);
  for (auto& block : kept) stress::check_and_release(block.load_relaxed());
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"soak", run};

}  // namespace stress::soak
