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

namespace talus::core::test {

class Footprint {
 public:
  Footprint() : before_{options} {
    options.retain_bytes = 1 * mib;
    purge_beyond(0);
    // What was in use before is forgotten, also by the program's own threads.
    Held held{space.lock()};
    space.purge_surplus(held, LowMark::turns_kept + 1);
    space.purge_surplus(held, 1);
  }
  ~Footprint() { options = before_; }
  Footprint(const Footprint&) = delete;
  Footprint& operator=(const Footprint&) = delete;

  size_t bytes() const {
    Held held{space.lock()};
    return space.counters().given_bytes + space.dirty_bytes();
  }
  // The most that was given at one look, or is now, plus what may stay free, plus a little for
  // slabs' free blocks. An eighth of what is given may stay (retention/goal.hpp). More may stay
  // where purged memory was refaulted, which is a matter of time.
  // `more` bytes were given beside that during the step, while contents were copied: the bound
  // counts what was in use lately.
  size_t most(size_t more = 0) {
    Held held{space.lock()};
    const size_t given = space.counters().given_bytes;
    most_given_ = std::max(most_given_, given + more);
    most_kept_ = std::max({most_kept_, options.retain_bytes, space.refaulted_bytes(held)});
    return std::max(most_given_, given + std::max(most_kept_, given / 8)) + 1 * mib;
  }

 private:
  Options before_;
  size_t most_given_ = 0;
  size_t most_kept_ = 0;
};

// How large blocks get that are to make more stay than may.
inline constexpr size_t most_grown = under_asan || under_tsan ? 16 * mib : 64 * mib;

// A step of a block that grows.
struct GrowthStep {
  bool moved;
  bool kept;  // its contents
  size_t bytes_before;
  // Given twice during the step.
  size_t copied_bytes() const { return moved ? bytes_before : 0; }
};

// Two blocks grow by half in turn and stand in each other's way; look(step) after each step, and
// whether to go on.
template <typename Look>
void grow_two(size_t first, size_t last, Look look) {
  void* blocks[] = {allocate(first), allocate(first)};
  for (void* block : blocks) fill_pattern(block, first, 3);
  for (size_t bytes = first; bytes < last;) {
    const size_t wanted = std::min(bytes + bytes / 2, last);
    for (void*& block : blocks) {
      void* grown = reallocate(block, wanted);
      const bool kept = grown != nullptr && has_kept_pattern(grown, bytes, bytes, 3);
      if (kept) fill_pattern(grown, wanted, 3);
      const bool moved = grown != block;
      if (grown != nullptr) block = grown;
      if (!look(GrowthStep{moved, kept, bytes})) return;
    }
    bytes = wanted;
  }
  for (void* block : blocks) free_block(block);
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_FOOTPRINT_HPP
