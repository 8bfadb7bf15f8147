// SPDX-License-Identifier: MIT
// tests/unit/unwind/programs/shapes: functions of many shapes, which call one another at random.
//
// They are compiled as programs are, with -O2 and without frame pointers, apart from the test that
// looks at their stacks.
#ifndef TALUS_TESTS_UNIT_UNWIND_PROGRAMS_SHAPES_HPP
#define TALUS_TESTS_UNIT_UNWIND_PROGRAMS_SHAPES_HPP

#include <cstddef>
#include <cstdint>

namespace talus::core::test {

// A way through the shapes. At its end, and now and then before, look(with) is called.
struct Trip {
  uint64_t random = 0;
  size_t depth = 0;
  void (*look)(void* with) = nullptr;
  void* with = nullptr;
  bool has_signals = true;  // shapes that raise SIGUSR1, whose handler goes on

  uint64_t next() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  }
};

uint64_t travel(Trip& trip);
// What a handler of SIGUSR1 calls.
void travel_in_handler();

// Calls look(with) from a frame of `depth` equal ones.
void dive(size_t depth, void (*look)(void* with), void* with);

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_UNWIND_PROGRAMS_SHAPES_HPP
