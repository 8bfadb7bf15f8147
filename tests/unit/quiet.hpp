// SPDX-License-Identifier: MIT
// tests/unit/quiet: what the heap says of itself when no thread is using it.
//
// Owns: nothing. Called on: a test's main thread while no other thread allocates. Blocks on their
// way home are brought home first, since they are counted as delivered only from then on.
#ifndef TALUS_TESTS_UNIT_QUIET_HPP
#define TALUS_TESTS_UNIT_QUIET_HPP

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "classes/fitted.hpp"
#include "effort.hpp"
#include "at_rest.hpp"
#include "reclaim/purge_now.hpp"
#include "paths/resize.hpp"
#include "inspect/totals.hpp"
#include "process/start.hpp"

namespace talus::core::test {

inline HeapTotals quiet_totals() {
  purge_beyond(0);
  return collect_totals();
}
inline size_t live_bytes() { return quiet_totals().live(); }

inline bool space_is_sound() {
  Held held{space.lock()};
  return space.is_sound();
}

// The cache of this thread, made if there is none yet.
inline ThreadCache& own_cache() {
  free_block(allocate(1));
  return *cache_behind(current_context());
}

// From here on the process makes no fitted class: all places are taken, for sizes that tests do not
// ask for. For tests of fixed classes that ask for many blocks of one size.
inline void use_fixed_classes_only() {
  for (size_t i = 0; i < fitted_small_classes; i++) {
    fitted_classes.make(5 * kib + 30 + i * 6 * kib, [](ClassId) {});
  }
  for (size_t i = 0; i < fitted_medium_classes; i++) {
    fitted_classes.make(fitted_bytes_max - (i + 1) * 9 * kib, [](ClassId) {});
  }
}

class FixedClasses : public testing::Test {
 protected:
  void SetUp() override { use_fixed_classes_only(); }
};

// Where there is one processor, all threads have one heap.
inline bool has_two_heaps() {
  Held held{registry.lock};
  return heap_limit(held) >= 2;
}

// Forks are what they are in a program: the handlers stand, once however many tests ask.
inline void begin_forks() {
  static bool has_begun;
  if (!has_begun) watch_forks();
  has_begun = true;
}

// Runs work(index) on `count` threads and waits for their ends.
template <typename Work>
void on_threads(size_t count, Work work) {
  std::vector<std::thread> threads;
  for (size_t index = 0; index < count; index++) threads.emplace_back(work, index);
  for (std::thread& thread : threads) thread.join();
}

// Calls ask() on a thread of its own while two others replace blocks of up to 2^length_bits bytes.
template <typename Ask>
void ask_while_others_allocate(size_t rounds, unsigned length_bits, Ask ask) {
  Atomic<bool> stop;
  std::thread asker{[&] {
    while (!stop.load_relaxed()) ask();
  }};
  on_threads(2, [=](size_t self) {
    Random random{self};
    std::vector<void*> blocks(200);
    for (size_t round = 0; round < rounds; round++) {
      void*& block = blocks[random.below(blocks.size())];
      free_block(block);
      block = allocate(random.of_any_length(length_bits));
    }
    for (void* block : blocks) free_block(block);
  });
  stop.store_relaxed(true);
  asker.join();
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_QUIET_HPP
