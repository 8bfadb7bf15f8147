// Free memory is no reason to be killed (N49): 200 MiB of small and of large blocks in 256 MiB.
//
// A process in a control group of 256 MiB takes 200 MiB of small blocks and frees them, then 200
// MiB of large ones. It repeats this: 100 rounds in full, 25 in the short form. What was free for
// one shape must make room for the other before the kernel ends the process. The probe needs the
// right to make a memory group, which root in most containers has not; without it the probe is
// skipped. The probe limits_cpu_quota runs the alternation in its own group, with
// CONFORMANCE_LIVE_MIB live.
// SPDX-License-Identifier: MIT
#include "../control_group.hpp"
#include "../form.hpp"
#include "../relaunch.hpp"
#include "../retention.hpp"

namespace {

constexpr std::size_t limit_bytes = 256 * probe::mib;
constexpr std::size_t live_default = 200 * probe::mib;
constexpr int tally = 100;  // the descriptor that gets a byte for each round survived

std::size_t live_asked() {
  const char* given = std::getenv("CONFORMANCE_LIVE_MIB");
  return given != nullptr ? std::strtoull(given, nullptr, 10) * probe::mib : live_default;
}

int alternate() {
  const std::size_t live_bytes = live_asked();
  const std::size_t large_max = live_bytes / 12;
  const std::size_t rounds = probe::form(25, 100);
  probe::Random random(6);
  probe::Crowd crowd;
  for (std::size_t round = 0; round < rounds; ++round) {
    // Each round has small blocks of another size, so that no list of one size can serve.
    const std::size_t top = std::size_t{256} << random.below(6);
    while (crowd.bytes() < live_bytes) crowd.take(random.between(top / 2, top));
    crowd.give_all();
    while (crowd.bytes() + large_max < live_bytes) {
      crowd.take(random.between(large_max / 16, large_max));
    }
    crowd.give_all();
    probe::write_all(tally, "+", 1);
  }
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "alternate")) return alternate();
  constexpr const char* controllers[] = {"memory"};
  probe::ControlGroup group(controllers);
  if (!group.is_made() || !group.set_memory_limit(limit_bytes)) {
    group.~ControlGroup();  // skip ends the process
    probe::skip("no memory control group can be made");
  }
  int survived[2];
  if (pipe(survived) != 0) return 1;
  const std::size_t rounds = probe::form(25, 100);
  const probe::Outcome outcome = probe::relaunch("alternate", probe::is_soak() ? 240 : 50, [&] {
    return dup2(survived[1], tally) == tally && group.join();
  });
  char marks[128];
  close(survived[1]);
  const ssize_t count = read(survived[0], marks, sizeof(marks));
  probe::figure("survived", 100.0 * static_cast<double>(count) / static_cast<double>(rounds),
                "% of the rounds");
  PROBE_EXPECT(group.killed() == 0, "the kernel ended it at its limit in round %zd", count + 1);
  probe::expect_ok(outcome, "200 MiB of small and of large blocks in turn in 256 MiB");
  return probe::verdict();
}
