// SPDX-License-Identifier: MIT
// tests/entry/bounded_main: bounded instances in C++, with the library linked and header-only:
// that the objects own what they should, and that the C header may be included, too.
#include <talus/bounded.hpp>
#include <talus/bounded.h>

#include <thread>
#include <utility>
#include <vector>

#include "expect.h"

namespace {

void owns() {
  talus::bounded one{4, 4096};
  talus_bounded* const handle = one.get();
  void* block = one.allocate(20);
  EXPECT(one.pool_of(block) == 1);
  talus::bounded two = std::move(one);
  EXPECT(!one && two && two.get() == handle && two.pool_of(block) == 1);
  two = talus::bounded{1, 64};
  EXPECT(two.get() != handle && two.pool_of(block) == -1);
  two.deallocate(two.allocate(5000, 4096));
  void* aligned = two.try_allocate(16, 65536);
  EXPECT(reinterpret_cast<uintptr_t>(aligned) % 65536 == 0);
  two.deallocate(aligned);
  EXPECT(two.stats().routed == 2 && two.stats(0).blocks == 4);
}

void caches() {
  const std::size_t capacities[4] = {100, 100, 100, 100};
  talus::bounded pools{4, 64 * 1024};
  {
    talus::bounded_cache cache{pools, capacities, TALUS_BOUNDED_HOT};
    void* block = cache.allocate(64);
    EXPECT(pools.stats(3).hits == 1 && pools.stats(3).cached_blocks == 99);
    cache.deallocate(block);
    EXPECT(pools.allocate(64) == block);
    pools.deallocate(block);
  }
  EXPECT(pools.stats().cached_blocks == 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&pools] {
      talus::bounded_cache cache{pools};
      for (int i = 0; i < 10000; i++) cache.deallocate(cache.allocate(1 + i % 64));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(pools.stats().live_blocks == 0 && pools.stats().hits + pools.stats().misses == 30002);
}

void refuses() {
#if defined(__cpp_exceptions)
  talus::bounded pools{1, 64};
  bool caught = false;
  try {
    pools.deallocate(pools.allocate(PTRDIFF_MAX));
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  EXPECT(caught);
#endif
}

}  // namespace

int main() {
  owns();
  caches();
  refuses();
  return 0;
}
