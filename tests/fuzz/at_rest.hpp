// SPDX-License-Identifier: MIT
// fuzz/at_rest: what must hold of all blocks together while no thread calls the library.
//
// Owns: the numbers of the process at its start, which later ones are compared with.
// Called on: the one thread that runs.
#ifndef TALUS_TESTS_FUZZ_AT_REST_HPP
#define TALUS_TESTS_FUZZ_AT_REST_HPP

#include <stddef.h>

namespace fuzz {

struct ProcessMemory {
  size_t address_bytes;
  size_t resident_bytes;
};
ProcessMemory read_memory();

bool prepare_rest_checks();
// All contents, no overlap, statistics of heaps and instances; `is_exact`: all blocks are known.
void check_at_rest(bool is_exact);
// Everything that is known is freed.
void free_all();
// Nothing of the process's blocks is left; nothing of what was taken is missing.
void check_emptied(bool is_exact);
// Memory went back.
void check_ended(size_t resident_before_free);

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_AT_REST_HPP
