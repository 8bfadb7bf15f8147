// SPDX-License-Identifier: MIT
// fuzz/steps: what a thread does next.
//
// Owns: how often each kind of call comes.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_STEPS_HPP
#define TALUS_TESTS_FUZZ_STEPS_HPP

#include "thread.hpp"

namespace fuzz {

extern std::atomic<uint64_t> step_total;

void take_steps(size_t count);

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_STEPS_HPP
