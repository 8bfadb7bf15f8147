// Reads whole numbers, and prints quantiles of them as the workloads' histogram has them.
//
// The first argument is the number of halves: each gets every second number, and they are added up.
//
// SPDX-License-Identifier: MIT

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "../workloads/histogram.hpp"

int main(int, char** arguments) {
  static bench::Histogram<5> halves[2];
  const size_t count = static_cast<size_t>(std::atoi(arguments[1]));
  uint64_t value;
  for (size_t at = 0; std::scanf("%" SCNu64, &value) == 1; at++) halves[at % count].add(value);
  if (count == 2) halves[0].add_all(halves[1]);
  const bench::Histogram<5>& all = halves[0];
  constexpr double shares[] = {0.5, 0.99, 0.999, 0.9999, 1.0};
  for (const double share : shares) {
    std::printf("%" PRIu64 " ", all.quantile(share));
  }
  std::printf("%" PRIu64 " %" PRIu64 "\n", all.max(), all.total());
  return 0;
}
