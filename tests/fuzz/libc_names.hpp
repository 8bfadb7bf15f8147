// SPDX-License-Identifier: MIT
// fuzz/libc_names: functions of the library by names for which libc has no header everywhere.
//
// Owns: their prototypes. C23's and the BSDs' names, and cfree of glibc before 2.26.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_LIBC_NAMES_HPP
#define TALUS_TESTS_FUZZ_LIBC_NAMES_HPP

#include <stddef.h>

extern "C" {
void cfree(void* pointer);
void free_sized(void* pointer, size_t bytes);
void* reallocf(void* pointer, size_t bytes);
void* recallocarray(void* pointer, size_t old_count, size_t count, size_t bytes);
}

#endif  // TALUS_TESTS_FUZZ_LIBC_NAMES_HPP
