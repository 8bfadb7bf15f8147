// SPDX-License-Identifier: MIT
// fuzz/bounded: bounded instances and their threads' caches.
//
// Owns: a row for each instance with its gate; each thread has its own caches (thread.hpp).
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_BOUNDED_HPP
#define TALUS_TESTS_FUZZ_BOUNDED_HPP

#include "gate.hpp"
#include "places.hpp"
#include "talus/bounded.h"

namespace fuzz {

struct Bounded {
  Gate gate;
  std::atomic<bool> is_alive{false};

  // Constant from talus_bounded_new to the end.
  talus_bounded* handle = nullptr;
  uint32_t generation = 0;  // a cache of another one is gone
  size_t pools = 0;
  bool has_fallback = false;  // of the program's, which refuses now and then

  // Other threads used it at the fork that made this process.
  bool is_uncertain = false;
};

extern Bounded bounded_instances[bounded_count];

void make_bounded(int number);
void allocate_in_bounded(Place& place, int number);
void free_in_bounded(Place& place);
void resize_in_bounded(Place& place);
// Its statistics agree with the shadow; then mostly its end.
void end_bounded(int number);
// It is alone with this thread.
void check_bounded(int number);
// The thread's cache before it comes or goes.
void change_cache(int number);
void end_caches();

template <typename Body>
inline void use_bounded(int number, Body body) {
  Bounded& bounded = bounded_instances[number];
  if (!bounded.is_alive.load() || !bounded.gate.try_use()) return;
  if (bounded.is_alive.load()) body(bounded);
  bounded.gate.end_use();
}

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_BOUNDED_HPP
