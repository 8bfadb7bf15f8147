// SPDX-License-Identifier: MIT
// tests/entry/program_end: the end of a program that Talus is part of, with a fixed address or not.
//
// Objects that live as long as the program or its thread still have a heap with lists when they
// end. The end of a thread is known to be the very last, and the main thread has none. Prints
// nothing.
#include <talus/bounded.hpp>

#include <optional>
#include <thread>
#include <utility>

#include "expect.h"

namespace {

// Of a thread's lists the block freed last comes first; of a slab the one with the lowest address.
void has_lists() {
  void* low = talus_malloc(40);
  void* high = talus_malloc(40);
  EXPECT(low != nullptr && high != nullptr);
  if (high < low) std::swap(low, high);
  talus_free(low);
  talus_free(high);
  void* last = talus_malloc(40);
  EXPECT(last == high);
  talus_free(last);
}

struct AtTheEnd {
  ~AtTheEnd() { has_lists(); }
};

struct User {
  std::optional<talus::bounded_cache> cache;
  ~User() {
    if (!cache) return;
    has_lists();
    cache->deallocate(cache->allocate(100));
  }
};

AtTheEnd last;
talus::bounded pools{20, 1 << 20};
talus::bounded others{20, 1 << 20};
talus::bounded_cache cache{pools, nullptr, TALUS_BOUNDED_HOT};
AtTheEnd first;
thread_local User user;

void use() {
  User& own = user;  // made before anything of Talus is used on this thread
  own.cache.emplace(others);
  own.cache->deallocate(own.cache->allocate(100));
}

}  // namespace

int main() {
  std::thread{use}.join();
  use();
  void* block = cache.allocate(100);
  cache.deallocate(block);
  for (int i = 0; i < 1000; i++) talus_free(talus_malloc(1));  // for entry_test.py, which counts
  return 0;
}
