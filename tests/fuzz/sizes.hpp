// SPDX-License-Identifier: MIT
// fuzz/sizes: the sizes and alignments that are asked for.
//
// Owns: their distributions: most small, some at the edges of classes and powers of two, few large.
// Some exceed each machine; they must be refused and not be miscounted.
// Called on: any thread; draws its numbers.
#ifndef TALUS_TESTS_FUZZ_SIZES_HPP
#define TALUS_TESTS_FUZZ_SIZES_HPP

#include "thread.hpp"

namespace fuzz {

size_t draw_size();
size_t draw_alignment();
// At least 2^47 - 100000, more than can be had.
size_t draw_senseless_size();
// What a block is resized to, beside what it has now; never 0.
size_t draw_new_size(size_t bytes, size_t usable);
// Above this no call may succeed.
constexpr size_t possible_bytes_max = size_t{1} << 47;

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_SIZES_HPP
