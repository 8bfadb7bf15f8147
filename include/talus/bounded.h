/* SPDX-License-Identifier: MIT
 *
 * bounded.h: pools of fixed size with caches that a thread asks for, in front of another allocator.
 *
 * A bounded instance has one pool for each of the first size classes of Talus, with a budget in
 * bytes. A request is served by the pool of its class; when that is used up, by one of the next
 * three; and by the fallback, another allocator, when these are used up, too, or the request is
 * larger or more aligned than any pool. What blocks may cost is thus decided when the program
 * starts, and a hot loop meets neither the system nor other threads.
 *
 * All functions are thread-safe, but for those on a cache, which is for its thread alone. Blocks
 * may be freed by any thread, by talus_bounded_free of their instance alone, not by free. Sizes are
 * in bytes. Functions that give a block return null and set errno to ENOMEM when the fallback has
 * none (EINVAL: the alignment is no power of two); all others keep errno. Pools take their pages
 * when these are first used, and keep them until the end. Modes and limits of the process, and
 * trims, do not know of pools. docs/bounded.md has the whole story.
 */
#ifndef TALUS_BOUNDED_H
#define TALUS_BOUNDED_H

#if defined(TALUS_HEADER_ONLY) && !defined(__cplusplus)
#error "TALUS_HEADER_ONLY is for C++: a C program links the library"
#elif defined(TALUS_HEADER_ONLY) && !defined(TALUS_ONE_HEADER)
#include "talus/talus.hpp" /* the one header, which has all that is declared here */
#else

#include "talus/talus.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct talus_bounded talus_bounded;
typedef struct talus_bounded_cache talus_bounded_cache;

enum {
  TALUS_BOUNDED_POOLS_MAX = 72,     /* pools of an instance; blocks of the last have 32 KiB */
  TALUS_BOUNDED_INSTANCES_MAX = 64, /* that may be alive at a time */
  TALUS_BOUNDED_OVERFLOW_POOLS = 3, /* that are tried in the place of one that is used up */
  TALUS_BOUNDED_ALIGNMENT_MAX = 4096
};

/* What serves the requests that no pool can. All four are there, are thread-safe where the instance
 * is used by several threads, and may not use this instance; `context` is passed to each.
 * Alignments are powers of two, 16 at least. */
typedef struct talus_bounded_fallback {
  void* (*alloc)(void* context, size_t bytes, size_t alignment); /* null: there is no memory */
  void (*free)(void* context, void* pointer);                    /* never null */
  void* (*realloc)(void* context, void* pointer, size_t bytes, size_t alignment);
  size_t (*usable_size)(void* context, const void* pointer);
  void* context;
} talus_bounded_fallback;

enum {
  /* All pages of all pools get their memory at once, so that no page fault comes later. */
  TALUS_BOUNDED_TOUCH = 1
};

typedef struct talus_bounded_options {
  size_t pools;          /* 1 to TALUS_BOUNDED_POOLS_MAX: the classes 0 to pools - 1 have one */
  size_t budget_bytes;   /* for each pool, 2^40 at most; not used with `budgets` */
  const size_t* budgets; /* null, or one for each pool; 0: a pool without blocks */
  const talus_bounded_fallback* fallback; /* copied; null: the heap of talus_malloc */
  unsigned flags;                         /* 0 or TALUS_BOUNDED_TOUCH */
} talus_bounded_options;

/* How many pools have blocks of up to `bytes` bytes, and the block size of one (0: there is none
 * of this number). Sizes are the multiples of 16 up to 128, then 8 to each doubling. */
TALUS_API size_t talus_bounded_pools_for(size_t bytes) TALUS_NOEXCEPT;
TALUS_API size_t talus_bounded_pool_bytes(size_t pool) TALUS_NOEXCEPT;

/* A new instance. It reserves addresses for `pools` times the largest budget, rounded up to a power
 * of two; a pool never hands out more than its budget, whole blocks of it. Errors: null, errno
 * EINVAL for options that are not as above, ENOMEM when the system refuses the addresses or
 * TALUS_BOUNDED_INSTANCES_MAX are alive. */
TALUS_API talus_bounded* talus_bounded_new(const talus_bounded_options* options) TALUS_NOEXCEPT;

/* The end of an instance, of its caches (of all threads) and of all blocks in its pools; those of
 * the fallback stay. No other thread uses it meanwhile. Null: nothing. An instance that is gone,
 * and whose place no newer one has taken, is reported on standard error and ends the process where
 * it is used. */
TALUS_API void talus_bounded_destroy(talus_bounded* instance) TALUS_NOEXCEPT;

/* As their namesakes in talus.h, in this instance, which is not null. Blocks are at multiples of 16
 * at least. Zero bytes give a block. talus_bounded_calloc clears what was asked for; ENOMEM also
 * when the product overflows. */
TALUS_API void* talus_bounded_malloc(talus_bounded* instance, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_bounded_calloc(talus_bounded* instance, size_t count,
                                     size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_bounded_aligned_alloc(talus_bounded* instance, size_t alignment,
                                            size_t bytes) TALUS_NOEXCEPT;

/* Resizes a block; it stays where it is while it fits and uses more than half of its block, else it
 * moves, also between pools and fallback. `pointer` null: a new block. `bytes` 0: frees, returns
 * null. Errors: the block is untouched. The first keeps an alignment of 16. */
TALUS_API void* talus_bounded_realloc(talus_bounded* instance, void* pointer,
                                      size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_bounded_aligned_realloc(talus_bounded* instance, void* pointer,
                                              size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Frees a block of this instance; null is ignored. What lies in no pool goes to the fallback. In a
 * pool, a second free, a pointer into a block and one that never was a block are reported and end
 * the process: at once by a thread without a cache for the class, else when the cache gives the
 * block back to its pool, unless it was handed out again before. */
TALUS_API void talus_bounded_free(talus_bounded* instance, void* pointer) TALUS_NOEXCEPT;

/* Bytes of a live block that may be used. Null: 0. */
TALUS_API size_t talus_bounded_usable_size(talus_bounded* instance,
                                           const void* pointer) TALUS_NOEXCEPT;

/* The pool that an address belongs to, by the address alone; -1: none of this instance. */
TALUS_API int talus_bounded_pool_of(talus_bounded* instance, const void* pointer) TALUS_NOEXCEPT;

/* ---- thread caches */

enum talus_bounded_start {
  TALUS_BOUNDED_COLD = 0, /* empty */
  TALUS_BOUNDED_WARM = 1, /* half full */
  TALUS_BOUNDED_HOT = 2   /* full, as far as the pools have blocks */
};

/* A cache of the calling thread before an instance: from here on this thread's requests and frees
 * use it. `capacities`: the most blocks that it holds of each pool, one number a pool, 0 for none;
 * what is more than the pool has is taken down to that; null: 16 KiB of small blocks, 64 KiB of
 * those above 4 KiB. A thread may have one for each instance. It ends with the thread, at the
 * latest; its blocks go back to their pools. Errors: null, errno EEXIST when the thread has one,
 * EINVAL for another `start`, ENOMEM also in a thread that is past its end. */
TALUS_API talus_bounded_cache* talus_bounded_cache_new(
    talus_bounded* instance, const size_t* capacities,
    enum talus_bounded_start start) TALUS_NOEXCEPT;

/* The cache ends, by its thread, or by any while that does not use the instance. Null: nothing. One
 * that is gone, and whose place no newer one has taken, is reported. A thread that is past its end,
 * in destructors of its keys (in a plugin that carries Talus, of thread-local objects, too), ends
 * no cache, since its own are gone: nothing happens. Nor may it use one of those otherwise. */
TALUS_API void talus_bounded_cache_destroy(talus_bounded_cache* cache) TALUS_NOEXCEPT;

/* As talus_bounded_malloc and talus_bounded_free, by a cache at hand: a few instructions less.
 * The calling thread is the cache's. */
TALUS_API void* talus_bounded_cache_malloc(talus_bounded_cache* cache, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void talus_bounded_cache_free(talus_bounded_cache* cache, void* pointer) TALUS_NOEXCEPT;

/* ---- statistics */

/* What happened to the requests of one class since the instance was made, and where its pool's
 * blocks are. Exact while no thread uses the instance. hits + misses + overflows + routed are the
 * requests that a block was wanted for; one that the fallback refused is in routed, too. */
typedef struct talus_bounded_numbers {
  size_t block_bytes;
  size_t blocks;        /* that the budget allows */
  size_t live_blocks;   /* that the program holds, overflow of smaller classes included */
  size_t cached_blocks; /* in thread caches */
  size_t peak_blocks;   /* the most that were live or cached: what the budget had to be */
  uint64_t hits;        /* served by the thread's cache */
  uint64_t misses;      /* served by the pool: the cache was empty, or there is none */
  uint64_t overflows;   /* served by a larger class */
  uint64_t routed;      /* passed on to the fallback, because pools were used up */
} talus_bounded_numbers;

/* Of one pool; of all, with `pool` SIZE_MAX: sums, block_bytes 0, and in `routed` also what is too
 * large or too aligned for pools. Any other number: zeros. */
TALUS_API talus_bounded_numbers talus_bounded_stats(talus_bounded* instance,
                                                    size_t pool) TALUS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* not by way of the one header */

#endif /* TALUS_BOUNDED_H */
