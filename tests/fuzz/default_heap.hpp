// SPDX-License-Identifier: MIT
// fuzz/default_heap: the malloc family and its kin, by all their names.
//
// Owns: the choice of the call and its arguments, and what that call promises beyond a block.
// Called on: any thread, with the place locked and the gate of the block's heap entered.
#ifndef TALUS_TESTS_FUZZ_DEFAULT_HEAP_HPP
#define TALUS_TESTS_FUZZ_DEFAULT_HEAP_HPP

#include "places.hpp"

namespace fuzz {

// A block of the heap that malloc serves, into an empty place.
void allocate_any(Place& place);
// Sizes and alignments that cannot be had: the error is the right one, and nothing is lost.
void allocate_senseless();
// by_free: only the calls that are allowed while the heap of the block is being deleted.
enum class Frees { by_any_call, by_free };
void free_any(Place& place, Frees how);
void resize_any(Place& place);
// Many blocks at a time, taken or freed.
void use_batch();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_DEFAULT_HEAP_HPP
