// Without a handler: bad_alloc from every throwing new, null from every nothrow new (N30).
//
// Asked for sizes no machine has and for memory that a limit on addresses refuses. After each
// refusal the process must be able to go on: throwing itself allocates, and it does so while the
// allocator has just failed. Sizes that wrap when rounded are the probe cxx_wrapping_new.
// SPDX-License-Identifier: MIT
#include "refused_sizes.hpp"

#include <cstdint>
#include <new>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

void check_containers() {
  bool is_thrown = false;
  try {
    std::vector<std::string> lines;
    lines.reserve(probe::opaque(std::size_t{1} << 56));
  } catch (const std::bad_alloc&) {
    is_thrown = true;
  }
  PROBE_EXPECT(is_thrown, "vector::reserve over all addresses");
}

}  // namespace

int main() {
  probe::check_refused_size(PTRDIFF_MAX);
  probe::check_refused_size(static_cast<std::size_t>(PTRDIFF_MAX) + 1);
  check_containers();
  rlimit limit{600 * probe::mib, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) == 0) probe::check_refused_size(probe::gib);
  std::string text(100000, 'x');
  PROBE_EXPECT(text.find_first_not_of('x') == std::string::npos, "a string after the refusals");
  return probe::verdict();
}
