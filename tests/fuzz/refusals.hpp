// SPDX-License-Identifier: MIT
// fuzz/refusals: the kernel refuses some of the system calls that the library makes.
//
// Owns: a seccomp filter on the addresses of libtalus.so, whose trap either makes the call after
// all, or answers with an error that the kernel has for it. Calls of the program are not touched.
// Called on: the main thread before others start; the rate may be changed on any thread.
#ifndef TALUS_TESTS_FUZZ_REFUSALS_HPP
#define TALUS_TESTS_FUZZ_REFUSALS_HPP

#include <stdint.h>

namespace fuzz {

// False: not on this processor, or this kernel.
bool start_refusals();
// Of 1024 calls `of_1024` are refused from here on. Returns how many it were before.
int set_refusals(int of_1024);
void stop_refusals();
uint64_t count_refusals();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_REFUSALS_HPP
