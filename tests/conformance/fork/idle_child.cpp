// A forked child that frees a burst and idles gives it back (N11, N01): 15 % of the peak after 5 s.
//
// Helper threads do not survive fork, and a child that only sleeps makes no call that could start
// them again. The parent has worked with four threads and holds 128 MiB when it forks. Child
// "inherited" frees that and idles; child "own" takes 128 MiB itself, frees it and idles. The base
// is what was resident before any of that, and what child "own" inherits is freed too.
// SPDX-License-Identifier: MIT
#include "../relaunch.hpp"
#include "../retention.hpp"

namespace {

constexpr std::size_t burst_bytes = 128 * probe::mib;
constexpr std::size_t kept_percent_max = 15;

probe::Crowd inherited;

void work_with_threads() { probe::fill_and_free<4>(8 * probe::mib); }

int idle_after(const char* name, probe::Crowd& crowd, std::size_t base) {
  const std::size_t peak = probe::saturating_difference(probe::resident_bytes(), base);
  crowd.give_all();
  const std::size_t limit = base + peak / 100 * kept_percent_max;
  const bool is_released = probe::within(5.0, [&] { return probe::resident_bytes() <= limit; });
  // Pages may still leave when the bar is met; the figure is the end.
  const std::size_t left = probe::saturating_difference(probe::settled_resident_bytes(), base);
  const double kept = probe::percent(left, peak);
  PROBE_EXPECT(is_released, "%s blocks: the idle child keeps %.0f %% of %zu KiB", name, kept,
               peak / 1024);
  char figure[60];
  std::snprintf(figure, sizeof(figure), "kept, %s blocks", name);
  probe::figure(figure, kept, "% of peak");
  return probe::verdict();
}

int free_own(std::size_t base) {
  probe::Random random(8);
  probe::Crowd own;
  own.take_mixed(random, burst_bytes);
  inherited.give_all();
  return idle_after("own", own, base);
}

}  // namespace

int main() {
  const std::size_t base = probe::resident_bytes();
  work_with_threads();
  probe::Random random(2);
  inherited.take_mixed(random, burst_bytes);
  // Both at once: they wait more than they work.
  const pid_t heir = fork();
  if (heir == 0) _exit(idle_after("inherited", inherited, base));
  const pid_t maker = fork();
  if (maker == 0) _exit(free_own(base));
  probe::expect_ok(probe::wait_for(heir, 20), "the child that frees what it inherited");
  probe::expect_ok(probe::wait_for(maker, 20), "the child that frees what it took");
  return probe::verdict();
}
