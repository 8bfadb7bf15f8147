// Fragmentation does not creep up (N09): resident is 1.3 times live at the end, and has no slope.
//
// The trace of drift_trace.hpp over 20 minutes, a minute a phase; CONFORMANCE_SECONDS scales it.
// The second half of the last phase decides the ratio of resident to requested live bytes. The last
// two quarters go through the same phases, so their means are compared: the fourth may be 0.05
// above the third. Below 30 seconds phases would be too short for any allocator's clock; the short
// form has 10. Then each of the five kinds of phase comes once and the ratio alone is judged.
// CONFORMANCE_CSV names a file for (seconds, live bytes, resident bytes), from which
// bench/drift_chart.py draws; CONFORMANCE_LIVE_MIB sets the live size.
// SPDX-License-Identifier: MIT
#include "../drift_trace.hpp"
#include "../form.hpp"

#include <cstdlib>
#include <fcntl.h>

namespace {

constexpr double ratio_max = 1.3;
constexpr double rise_max = 0.05;
constexpr std::size_t samples_wanted = 400;
constexpr double slope_seconds_min = 30;

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

int open_table() {
  const char* path = std::getenv("CONFORMANCE_CSV");
  if (path == nullptr) return -1;
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) probe::fail("cannot write to %s", path);
  constexpr char head[] = "seconds,live_bytes,resident_bytes\n";
  if (file >= 0) probe::write_all(file, head, sizeof(head) - 1);
  return file;
}

void write_row(int file, double seconds, std::size_t live, std::size_t resident) {
  if (file < 0) return;
  char row[80];
  const int length = std::snprintf(row, sizeof(row), "%.3f,%zu,%zu\n", seconds, live, resident);
  probe::write_all(file, row, static_cast<std::size_t>(length));
}

// As many as the trace can replace several times in a phase.
std::size_t live_wanted(double seconds) {
  const char* given = std::getenv("CONFORMANCE_LIVE_MIB");
  const std::size_t mib = given != nullptr ? std::strtoull(given, nullptr, 10) : 0;
  if (mib != 0) return mib * probe::mib;
  const std::size_t wanted = seconds < slope_seconds_min ? 64 : seconds < 300 ? 128 : 512;
  return probe::fitting_bytes(wanted * probe::mib);
}

}  // namespace

int main() {
  const double seconds = probe::seconds_asked(10, 1200);
  const bool has_slope = seconds >= slope_seconds_min;
  const std::size_t phases = probe::DriftTrace::cycle_phases * (has_slope ? 4 : 1);
  const double phase_seconds = seconds / static_cast<double>(phases);
  const int table = open_table();
  probe::DriftTrace trace(live_wanted(seconds));
  const std::size_t base = probe::resident_bytes();
  Mean end;
  Mean third;
  Mean fourth;
  double most = 0;
  std::size_t phase = 0;
  trace.start_phase(phase);
  const double start = probe::now_seconds();
  double next_sample = seconds / samples_wanted;
  for (double now = 0; now < seconds; now = probe::now_seconds() - start) {
    if (now > static_cast<double>(phase + 1) * phase_seconds) trace.start_phase(++phase);
    if (!trace.step()) {
      probe::fail("no memory after %.1f s with %.1f MiB live", now,
                  probe::to_mib(trace.live_bytes()));
      break;
    }
    if (now < next_sample) continue;
    next_sample += seconds / samples_wanted;
    const std::size_t bytes = probe::saturating_difference(probe::resident_bytes(), base);
    write_row(table, now, trace.live_bytes(), bytes);
    const double ratio = static_cast<double>(bytes) / static_cast<double>(trace.live_bytes());
    if (now > seconds - phase_seconds / 2) end.add(ratio);
    if (now > 0.5 * seconds) (now > 0.75 * seconds ? fourth : third).add(ratio);
    if (now > 0.25 * seconds && ratio > most) most = ratio;
  }
  if (table >= 0) close(table);
  PROBE_EXPECT(end.value() <= ratio_max, "at the end %.2f times the live bytes are resident",
               end.value());
  probe::figure("resident at the end", end.value(), "x live");
  if (has_slope) {
    const double rise = fourth.value() - third.value();
    PROBE_EXPECT(rise <= rise_max, "the last quarter has %.3f times the live bytes more", rise);
    probe::figure("rise of the last quarter", rise, "x live");
  }
  probe::figure("most", most, "x live");
  return probe::verdict();
}
