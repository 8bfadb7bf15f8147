// SPDX-License-Identifier: MIT
// examples/header_only: Talus without a library, from one header.
//
// Compiled with -DTALUS_HEADER_ONLY (all units of a program alike). The program's malloc and new
// stay what they are; what it takes from Talus by name is on a heap inside this program.
#include <cstdio>
#include <numeric>
#include <talus/talus.hpp>
#include <thread>
#include <vector>

using Numbers = std::vector<int, talus::allocator<int>>;

int main() {
  std::vector<std::thread> threads;
  Numbers sums(4);
  for (std::size_t self = 0; self < sums.size(); self++) {
    threads.emplace_back([&sums, self] {
      Numbers own(1000);
      std::iota(own.begin(), own.end(), static_cast<int>(self));
      sums[self] = std::accumulate(own.begin(), own.end(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int sum : sums) std::printf("%d\n", sum);

  void* node = talus::allocate<64>();  // the size class is a constant here
  const bool is_block = talus_usable_size(node) == 64;
  talus_free(node);
  return is_block && sums[3] - sums[0] == 3000 ? 0 : 1;
}
