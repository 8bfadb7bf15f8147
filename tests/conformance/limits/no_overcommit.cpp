// Works where the kernel promises no more than it has (N21): vm.overcommit_memory 2.
//
// Under that rule each private writable page counts when it is mapped, touched or not. So address
// space reserved for later can fail while memory is free. A short drift_trace.hpp runs with a live
// size of a quarter of what may still be promised, 256 MiB at most. No allocation may fail and
// fewer than 500 mappings may result. Skipped unless the system has that setting; the probe changes
// no setting.
// SPDX-License-Identifier: MIT
#include "../drift_trace.hpp"
#include "../form.hpp"

#include <algorithm>

namespace {

constexpr std::size_t live_max = 256 * probe::mib;
constexpr std::size_t maps_max = 500;

bool promises_no_more() {
  bool is_strict = false;
  probe::for_each_line("/proc/sys/vm/overcommit_memory",
                       [&](const char* line) { is_strict = line[0] == '2'; });
  return is_strict;
}

}  // namespace

int main() {
  if (!promises_no_more()) probe::skip("vm.overcommit_memory is not 2");
  const std::size_t limit = probe::kilobyte_field("/proc/meminfo", "CommitLimit:");
  const std::size_t promised = probe::kilobyte_field("/proc/meminfo", "Committed_AS:");
  const std::size_t room = probe::saturating_difference(limit, promised);
  if (room < 128 * probe::mib) probe::skip("less than 128 MiB may be promised");
  const double seconds = probe::seconds_asked(5, 60);
  const double phase_seconds = seconds / probe::DriftTrace::cycle_phases;
  probe::DriftTrace trace(std::min(room / 4, live_max));
  std::size_t most = 0;
  for (std::size_t phase = 0; phase < probe::DriftTrace::cycle_phases; ++phase) {
    trace.start_phase(phase);
    const double end = probe::now_seconds() + phase_seconds;
    while (probe::now_seconds() < end) {
      if (!trace.step()) {
        probe::fail("no memory with %.1f of %.1f MiB live", probe::to_mib(trace.live_bytes()),
                    probe::to_mib(room));
        return probe::verdict();
      }
    }
    most = std::max(most, probe::map_count());
  }
  PROBE_EXPECT(most < maps_max, "%zu mappings", most);
  probe::figure("mappings", static_cast<double>(most), "");
  return probe::verdict();
}
