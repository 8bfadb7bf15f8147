// SPDX-License-Identifier: MIT
// fuzz/misuse_acts: the planned mistakes.
//
// Owns: one function for each, by its name. An act says "mistake", the address and the usable size
// of the block before the call that is to stop, and "returned" after it.
// Called on: the worker that makes the mistake.
#ifndef TALUS_TESTS_FUZZ_MISUSE_ACTS_HPP
#define TALUS_TESTS_FUZZ_MISUSE_ACTS_HPP

#include "misuse_world.hpp"

namespace fuzz_misuse {

struct Plan {
  Worker& worker;
  int other = 0;  // the worker that acts beside it
  Maker maker = Maker::c;
  size_t bytes = 0;
  size_t gap = 0;  // right calls between the first free and the mistake
};

using Act = void (*)(Plan& plan);
// Null: there is no such act.
Act act_of(const char* name);

}  // namespace fuzz_misuse

#endif  // TALUS_TESTS_FUZZ_MISUSE_ACTS_HPP
