// SPDX-License-Identifier: MIT
// api/libc_names: what C libraries declare differently of an allocator's names, or not at all.
//
// glibc declares them as functions that throw nothing, musl without a specification; a definition
// must repeat it. musl and old versions of glibc lack some names, which Talus has everywhere: a
// program for another C library may be preloaded. Owns: these declarations, none where the C
// library has its own. Must not know: what the functions do.
#ifndef TALUS_API_LIBC_NAMES_HPP
#define TALUS_API_LIBC_NAMES_HPP

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

// The exception specification of functions that the C library declares, too.
#if defined(__GLIBC__)
#define TALUS_LIBC_NOEXCEPT noexcept
#else
#define TALUS_LIBC_NOEXCEPT
#endif

#if !defined(__GLIBC__)
struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
// The parameters of mallopt that glibc has.
#define M_MXFAST 1
#define M_TRIM_THRESHOLD (-1)
#define M_TOP_PAD (-2)
#define M_MMAP_THRESHOLD (-3)
#define M_MMAP_MAX (-4)
#define M_CHECK_ACTION (-5)
#define M_PERTURB (-6)
#define M_ARENA_TEST (-7)
#define M_ARENA_MAX (-8)
#endif
#if !defined(__GLIBC__) || __GLIBC__ * 100 + __GLIBC_MINOR__ < 233
struct mallinfo2 {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
#endif
#if defined(__GLIBC__) && __GLIBC__ * 100 + __GLIBC_MINOR__ < 226
extern "C" void* reallocarray(void* pointer, size_t count, size_t bytes) noexcept;
#endif

// bionic: purge what is free.
#ifndef M_PURGE
#define M_PURGE (-101)
#endif
#ifndef M_PURGE_ALL
#define M_PURGE_ALL (-104)
#endif

#endif  // TALUS_API_LIBC_NAMES_HPP
