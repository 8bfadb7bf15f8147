// SPDX-License-Identifier: MIT
// fuzz/containers: C++'s types over the heap, as programs use them.
//
// Owns: nothing between two calls; each call makes containers, changes them and ends them, and what
// is in them must be what was put in.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_CONTAINERS_HPP
#define TALUS_TESTS_FUZZ_CONTAINERS_HPP

namespace fuzz {

void use_containers();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_CONTAINERS_HPP
