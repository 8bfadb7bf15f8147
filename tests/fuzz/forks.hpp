// SPDX-License-Identifier: MIT
// fuzz/forks: children that go on with the heap they were born with.
//
// Owns: what the forking thread holds at a fork. The child knows the blocks in places that it held,
// and heaps that no other thread used. Places of others are lost to it. Heaps that others used are
// uncertain: it may use, clear and destroy them, but not count what is in them.
// Called on: any thread; one forks at a time.
#ifndef TALUS_TESTS_FUZZ_FORKS_HPP
#define TALUS_TESTS_FUZZ_FORKS_HPP

#include "thread.hpp"

namespace fuzz {

extern std::atomic<uint64_t> fork_total;

// Others run: as a step.
void fork_now_and_then();
// No other thread is in the library: the child knows everything.
void fork_at_rest();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_FORKS_HPP
