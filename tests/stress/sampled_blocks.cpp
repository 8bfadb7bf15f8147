// SPDX-License-Identifier: MIT
// stress/sampled_blocks: one block in eight is sampled, and any thread frees or resizes it.
//
// Three threads allocate and free what others made, two short-lived ones begin and end. One
// switches the profile on and off, and one purges and adds up. Sampled blocks share slices, so a
// block that reaches into another shows in its contents.
#include "footprint.hpp"
#include "modes/profile.hpp"
#include "heap/sample_areas.hpp"

namespace stress::sampled_blocks {

constexpr int worker_count = 3;
stress::Exchange<2048> exchange;
talus::core::Atomic<bool> must_end;
talus::core::Atomic<uint64_t> switch_count;

void work(stress::Random& random) {
  for (int call = 0; call < 1000; call++) {
    const size_t bytes_max = random.below(20) == 0 ? 256 * stress::kib : 2 * stress::kib;
    void* made = stress::make_filled(random, random.size(bytes_max));
    if (call % 8 == 0)
      made = stress::resize_filled(made, 16 + random.size(8 * stress::kib), random);
    void* const other = exchange.swap(random, made);
    if (other != nullptr) stress::check_and_release(other);
  }
}
void switch_profile(stress::Random& random) {
  STRESS_CHECK(talus::core::profile::start(4 * stress::kib), "there is no profile");
  stress::sleep_us(5000 + random.below(10000));
  talus::core::profile::stop();
  switch_count.fetch_add_relaxed(1);
}

void live(int index) {
  stress::Random random{static_cast<uint64_t>(index)};
  while (!must_end.load_acquire()) {
    if (index == worker_count) {
      switch_profile(random);
    } else if (index == worker_count + 1) {
      talus::core::purge_beyond(0);
      talus::core::collect_totals();
      stress::sleep_us(1000);
    } else if (index == worker_count + 2) {
      stress::Threads<void (*)(int)> brief{2, [](int number) {
                                             stress::Random own{static_cast<uint64_t>(number)};
                                             work(own);
                                           }};
    } else {
      work(random);
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
  const talus::core::profile::Sites& sites = *talus::core::profile::profile.sites;
  uint64_t samples = 0;
  sites.for_each_site([&](const talus::core::profile::Site& site, const uintptr_t*) {
    samples += site.shared_allocations.load_stat();
  });
  printf("%zu switches, %zu samples, %zu of them lost\n",
         static_cast<size_t>(switch_count.load_relaxed()), static_cast<size_t>(samples),
         static_cast<size_t>(sites.lost()));
  STRESS_CHECK(switch_count.load_relaxed() > 1, "the profile was not switched");
  STRESS_CHECK(samples > 1000, "hardly a block was sampled");
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  STRESS_CHECK(talus::core::sample_areas::areas.used_units == 0, "an area has a block");
  return 0;
}

const Program program{"sampled_blocks", run};

}  // namespace stress::sampled_blocks
