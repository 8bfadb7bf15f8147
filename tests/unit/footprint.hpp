// SPDX-License-Identifier: MIT
// tests/unit/footprint: what is with users and what is free and touched beside it, and how much
// that may be; and a program that tries it.
//
// Owns: the options while a Footprint lives. Called on: a test's main thread while no other thread
// allocates.
#ifndef TALUS_TESTS_UNIT_FOOTPRINT_HPP
#define TALUS_TESTS_UNIT_FOOTPRINT_HPP

#include <algorithm>

#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::test {

class Footprint {
 public:
  Footprint() : before_{options} {
    options.retain_bytes = 1 * mib;
    trim_heaps(0);
    // What was in use before is forgotten, also by the program's own threads.
    Locked held{space.lock()};
    space.give_back_surplus(held, LowMark::turns_kept + 1);
    space.give_back_surplus(held, 1);
  }
  ~Footprint() { options = before_; }
  Footprint(const Footprint&) = delete;
  Footprint& operator=(const Footprint&) = delete;

  size_t bytes() const {
    Locked held{space.lock()};
    return space.counters().given_bytes + space.dirty_bytes();
  }
  // As much as was in use at the same time when it was asked, or what is, with what may stay; and
  // a little, for what slabs have free.
  size_t most() {
    Locked held{space.lock()};
    const size_t given = space.counters().given_bytes;
    most_given_ = std::max(most_given_, given);
    return std::max(most_given_, given + options.retain_bytes) + 1 * mib;
  }

 private:
  Options before_;
  size_t most_given_ = 0;
};

// Two blocks grow by half in turn, again and again; look() after each step.
template <typename Look>
void grow_two_in_turn(int rounds, Look look) {
  const size_t most = under_asan || under_tsan ? 16 * mib : 64 * mib;
  for (int round = 0; round < rounds; round++) {
    void* blocks[] = {allocate(64), allocate(64)};
    for (size_t bytes = 64; bytes != most;) {
      bytes = std::min(bytes + bytes / 2, most);
      for (void*& block : blocks) {
        block = reallocate(block, bytes);
        fill_pattern(block, bytes, 3);
        look();
      }
    }
    for (void* block : blocks) release(block);
    look();
  }
}

}  // namespace talus::test

#endif  // TALUS_TESTS_UNIT_FOOTPRINT_HPP
