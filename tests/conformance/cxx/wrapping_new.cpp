// new of a size that wraps to a small one when it is rounded up to the alignment (N29, N30).
//
// Every form must throw or give null. libstdc++ up to 12 rounds without looking in its own aligned
// new and hands out a tiny block, so glibc fails here by its C++ runtime; an allocator that
// replaces the operators can do better.
// SPDX-License-Identifier: MIT
#include "refused_sizes.hpp"

int main() {
  probe::check_refused_size(SIZE_MAX);
  probe::check_refused_size(SIZE_MAX - 100);
  probe::check_refused_size(SIZE_MAX - 254);
  probe::check_refused_size(SIZE_MAX - 4096);
  return probe::verdict();
}
