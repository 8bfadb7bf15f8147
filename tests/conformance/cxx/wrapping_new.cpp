// new of a size that wraps to a small one when it is rounded up to the alignment (N29, N30).
//
// Each form must throw or return null. The aligned new of libstdc++ up to 12 rounds without a check
// and returns a tiny block. So glibc fails here because of its C++ runtime. An allocator that
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
