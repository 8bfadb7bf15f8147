// SPDX-License-Identifier: MIT
// stress/modes_switching: modes come and go while threads allocate, and idle threads are emptied.
//
// One thread switches modes on and off, one trims and adds up, two short-lived ones begin and end,
// three allocate and now and then rest. A thread that a switch missed shows in the counts. While
// the mode was on for a whole round of each thread, it was told of at least the calls of these
// rounds. Now and then the only mode makes do with two-sided lists, and their counts say as much.
#include "footprint.hpp"
#include "modes/counting.hpp"
#include "../unit/modes/tallies.hpp"

namespace stress::modes_switching {

constexpr int worker_count = 3;
constexpr uint64_t calls_a_round = 100;
stress::Exchange<512> exchange;
talus::core::Atomic<bool> must_end;
talus::core::Atomic<uint64_t> rounds[worker_count], told_frees, switch_count, trim_count,
    sided_count;

void note_free(talus::core::ModeThread, void*) noexcept { told_frees.fetch_add_relaxed(1); }
constexpr talus::core::Mode make_watcher() noexcept {
  talus::core::Mode mode;
  mode.name = "watcher";
  mode.note_free = note_free;
  return mode;
}
constexpr talus::core::Mode watcher = make_watcher();

void work(int index, stress::Random& random) {
  for (uint64_t call = 0; call < calls_a_round; call++) {
    const size_t bytes_max = random.below(20) == 0 ? 512 * stress::kib : 4 * stress::kib;
    void* made = stress::make_filled(random, random.size(bytes_max));
    const size_t bytes = 16 + random.size(8 * stress::kib);
    if (call % 8 == 0) made = stress::resize_filled(made, bytes, random);
    void* other = exchange.swap(random, made);
    if (other == nullptr) other = stress::make_filled(random, 16);
    stress::check_and_release(other);
  }
  rounds[index].own_add(1);
  if (random.below(200) == 0) stress::sleep_us(20000);  // long enough to be taken for idle
}

// Each worker did one round from begin to end since.
bool wait_for_rounds() {
  uint64_t seen[worker_count];
  for (int i = 0; i < worker_count; i++) seen[i] = rounds[i].load_relaxed();
  for (int i = 0; i < worker_count; i++) {
    while (rounds[i].load_relaxed() < seen[i] + 2) {
      if (must_end.load_acquire()) return false;
      stress::sleep_us(100);
    }
  }
  return true;
}
// While all threads have two sides, or go there.
void watch_sides() {
  namespace tallies = talus::core::tallies;
  STRESS_CHECK(talus::core::switch_on(tallies::mode), "the chain is full");
  const uint64_t before = tallies::sum_of(tallies::collect().frees);
  if (!wait_for_rounds()) return;
  const uint64_t counted = tallies::sum_of(tallies::collect().frees) - before;
  const uint64_t least = worker_count * (calls_a_round - 1);  // a call of each may be under way
  STRESS_CHECK(counted >= least, "%zu frees counted", static_cast<size_t>(counted));
  sided_count.fetch_add_relaxed(1);
}
void switch_modes(stress::Random& random) {
  const bool has_sides = random.below(2) == 0;
  if (has_sides) watch_sides();
  const bool is_counting = random.below(2) == 0;
  if (is_counting)
    STRESS_CHECK(talus::core::switch_on(talus::core::counting::mode), "the chain is full");
  STRESS_CHECK(talus::core::switch_on(watcher), "the chain is full");
  const uint64_t before = told_frees.load_relaxed();
  if (wait_for_rounds()) {
    const uint64_t told = told_frees.load_relaxed() - before;
    STRESS_CHECK(told >= worker_count * calls_a_round, "%zu frees seen", static_cast<size_t>(told));
  }
  talus::core::switch_off(watcher);
  if (is_counting) talus::core::switch_off(talus::core::counting::mode);
  if (has_sides) talus::core::switch_off(talus::core::tallies::mode);
  switch_count.fetch_add_relaxed(1);
}

void live(int index) {
  stress::Random random{static_cast<uint64_t>(index)};
  while (!must_end.load_acquire()) {
    if (index == worker_count) {
      switch_modes(random);
    } else if (index == worker_count + 1) {
      talus::core::purge_beyond(0);
      talus::core::collect_totals();
      talus::core::counting::collect();
      trim_count.fetch_add_relaxed(1);
      stress::sleep_us(1000);
    } else if (index == worker_count + 2) {
      stress::Threads<void (*)(int)> brief{
          2, [](int) {
            void* block = talus::core::allocate(100);
            talus::core::free_block(talus::core::reallocate(block, 5000));
          }};
    } else {
      work(index, random);
    }
  }
}

int run() {
  talus::core::process_starts();
  {
    stress::Threads<void (*)(int)> threads{worker_count + 3, live};
    const stress::Deadline deadline;
    while (!deadline.is_over()) stress::sleep_us(10000);
    must_end.store_release(true);
  }
  printf("%zu switches, %zu frees seen, %zu trims\n",
         static_cast<size_t>(switch_count.load_relaxed()),
         static_cast<size_t>(told_frees.load_relaxed()),
         static_cast<size_t>(trim_count.load_relaxed()));
  STRESS_CHECK(switch_count.load_relaxed() > 1, "modes were not switched");
  STRESS_CHECK(sided_count.load_relaxed() > 0, "no thread had two sides");
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"modes_switching", run};

}  // namespace stress::modes_switching
