// SPDX-License-Identifier: MIT
// stress/footprint: how much memory a stress program has, as the kernel and as the heap see it.
//
// Owns: nothing. Resident memory is read from smaps_rollup, because the kernel's quick counters
// lag; looking allocates nothing. Called on: any thread.
#ifndef TALUS_TESTS_STRESS_FOOTPRINT_HPP
#define TALUS_TESTS_STRESS_FOOTPRINT_HPP

#include "stress.hpp"

namespace stress {

inline size_t resident_bytes() {
  char text[1024];
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  STRESS_CHECK(file >= 0, "smaps_rollup cannot be read");
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  const char* row = strstr(text, "Rss:");
  STRESS_CHECK(row != nullptr, "smaps_rollup has no Rss");
  return strtoull(row + 4, nullptr, 10) * kib;
}

// Address space of the heap that holds blocks or may hold pages: resident memory's upper bound.
inline size_t held_bytes() {
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  return totals.space.given_bytes + totals.dirty;
}

// At a quiet point, with no block left to the program: the heap must say so too.
inline void expect_nothing_live() {
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  STRESS_CHECK(totals.live_small == 0, "%zu bytes of small blocks are lost", totals.live_small);
  STRESS_CHECK(totals.live_large == 0, "%zu bytes of large blocks are lost", totals.live_large);
  STRESS_CHECK(totals.live_large_count == 0, "%zu large blocks", totals.live_large_count);
}

// The slope of a series by least squares, per step. Noise averages out, growth does not.
class Series {
 public:
  void add(double value) {
    const double x = count_++;
    sum_x_ += x;
    sum_xx_ += x * x;
    sum_y_ += value;
    sum_xy_ += x * value;
  }
  double slope() const {
    const double divisor = count_ * sum_xx_ - sum_x_ * sum_x_;
    return divisor > 0 ? (count_ * sum_xy_ - sum_x_ * sum_y_) / divisor : 0;
  }
  double mean() const { return count_ > 0 ? sum_y_ / count_ : 0; }
  int count() const { return count_; }

 private:
  int count_ = 0;
  double sum_x_ = 0, sum_xx_ = 0, sum_y_ = 0, sum_xy_ = 0;
};

}  // namespace stress

#endif  // TALUS_TESTS_STRESS_FOOTPRINT_HPP
