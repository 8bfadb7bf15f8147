/* SPDX-License-Identifier: MIT
 *
 * bounded.h: pools of fixed size and thread caches on request, in front of another allocator.
 *
 * A bounded instance has one pool for each of the first size classes of Talus, with a budget in
 * bytes. The pool of its class serves a request. When that pool is used up, one of the next three
 * serves it. The fallback, another allocator, serves it when these are used up too, or when the
 * request is larger or more aligned than any pool. So the program fixes the cost of blocks at
 * start, and a hot loop meets neither the system nor other threads.
 *
 * All functions are thread-safe, except those on a cache, which only its thread may call. Any
 * thread may free a block, with talus_bounded_free of its instance only, not with free. Sizes are
 * in bytes. Functions that return a block return null and set errno to ENOMEM when the fallback has
 * none (EINVAL: the alignment is no power of two). All others keep errno. Pools take their pages at
 * first use, and keep them until the end. Modes and limits of the process, and trims, do not cover
 * pools. More: docs/bounded.md. */
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
  TALUS_BOUNDED_OVERFLOW_POOLS = 3, /* that are tried in place of a used-up pool */
  TALUS_BOUNDED_ALIGNMENT_MAX = 4096
};

/* Serves the requests that no pool can. All four functions must be set. They must be thread-safe if
 * several threads use the instance, and must not use this instance. Each gets `context`. Alignments
 * are powers of two, at least 16. */
typedef struct talus_bounded_fallback {
  void* (*alloc)(void* context, size_t bytes, size_t alignment); /* null: no memory */
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

/* How many pools have blocks of up to `bytes` bytes, and the block size of a pool (0: no such
 * pool). Sizes are the multiples of 16 up to 128, then 8 to each doubling. */
TALUS_API size_t talus_bounded_pools_for(size_t bytes) TALUS_NOEXCEPT;
TALUS_API size_t talus_bounded_pool_bytes(size_t pool) TALUS_NOEXCEPT;

/* A new instance. It reserves addresses for `pools` times the largest budget, rounded up to a power
 * of two. A pool never hands out more whole blocks than its budget holds. Errors: null, errno
 * EINVAL for invalid options; ENOMEM when the system refuses the addresses or
 * TALUS_BOUNDED_INSTANCES_MAX are alive. */
TALUS_API talus_bounded* talus_bounded_new(const talus_bounded_options* options) TALUS_NOEXCEPT;

/* Ends an instance, its caches (of all threads) and all blocks in its pools. Blocks of the fallback
 * stay. No other thread uses it meanwhile. Null: nothing. Use of a dead instance whose place no
 * newer one has taken is reported on standard error and ends the process. */
TALUS_API void talus_bounded_destroy(talus_bounded* instance) TALUS_NOEXCEPT;

/* Like their namesakes in talus.h, in this instance, which is not null. Blocks are at multiples of
 * at least 16. Zero bytes give a block. talus_bounded_calloc clears the requested bytes; ENOMEM
 * also when the product overflows. */
TALUS_API void* talus_bounded_malloc(talus_bounded* instance, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_bounded_calloc(talus_bounded* instance, size_t count,
                                     size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_bounded_aligned_alloc(talus_bounded* instance, size_t alignment,
                                            size_t bytes) TALUS_NOEXCEPT;

/* Resizes a block. It stays in place while it fits and uses more than half of its block. Otherwise
 * it moves, also between pools and fallback. `pointer` null: a new block. `bytes` 0: frees, returns
 * null. Errors: the block is untouched. The first keeps an alignment of 16. */
TALUS_API void* talus_bounded_realloc(talus_bounded* instance, void* pointer,
                                      size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_bounded_aligned_realloc(talus_bounded* instance, void* pointer,
                                              size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Frees a block of this instance; null is ignored. A pointer outside all pools goes to the
 * fallback. In a pool, a second free, a pointer into a block, and one that never was a block are
 * reported and end the process. A thread without a cache for the class detects this at once.
 * Otherwise the cache detects it when it flushes the block to its pool, unless the block was handed
 * out again before. */
TALUS_API void talus_bounded_free(talus_bounded* instance, void* pointer) TALUS_NOEXCEPT;

/* Usable bytes of a live block. Null: 0. */
TALUS_API size_t talus_bounded_usable_size(talus_bounded* instance,
                                           const void* pointer) TALUS_NOEXCEPT;

/* The pool that an address belongs to, by the address alone; -1: none of this instance. */
TALUS_API int talus_bounded_pool_of(talus_bounded* instance, const void* pointer) TALUS_NOEXCEPT;

/* ---- thread caches */

enum talus_bounded_start TALUS_INT_ENUM {
  TALUS_BOUNDED_COLD = 0, /* empty */
  TALUS_BOUNDED_WARM = 1, /* half full */
  TALUS_BOUNDED_HOT = 2   /* full, as far as the pools have blocks */
};

/* Makes a cache of the calling thread for an instance: from here on this thread's requests and
 * frees use it. `capacities`: for each pool the most blocks that it holds, 0 for none, lowered to
 * the pool's blocks. Null is 16 KiB of small blocks and 64 KiB of blocks above 4 KiB. A thread may
 * have one cache for each instance. It ends with the thread, at the latest, and its blocks return
 * to their pools. Errors: null, errno EEXIST when the thread has one, EINVAL for another `start`,
 * ENOMEM also in a thread that is past its end. */
TALUS_API talus_bounded_cache* talus_bounded_cache_new(
    talus_bounded* instance, const size_t* capacities,
    enum talus_bounded_start start) TALUS_NOEXCEPT;

/* Ends a cache. Its own thread calls this, or another while that thread does not use the instance.
 * Null: nothing. A dead cache whose place no newer one has taken is reported. A thread past its end
 * runs destructors of its keys, and in a plugin with Talus also of thread-local objects. There the
 * call does nothing, because the thread's caches are gone. Such a thread must not use them in any
 * other way. */
TALUS_API void talus_bounded_cache_destroy(talus_bounded_cache* cache) TALUS_NOEXCEPT;

/* Like talus_bounded_malloc and talus_bounded_free, with a known cache: a few instructions fewer.
 * Only the cache's thread may call them. */
TALUS_API void* talus_bounded_cache_malloc(talus_bounded_cache* cache, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void talus_bounded_cache_free(talus_bounded_cache* cache, void* pointer) TALUS_NOEXCEPT;

/* ---- statistics */

/* What happened to the requests of one class since the instance began, and where its pool's blocks
 * are. Exact while no thread uses the instance. hits + misses + overflows + routed are all requests
 * for a block. A request that the fallback refused counts as routed. */
typedef struct talus_bounded_numbers {
  size_t block_bytes;
  size_t blocks;        /* that the budget allows */
  size_t live_blocks;   /* that the program holds, overflow of smaller classes included */
  size_t cached_blocks; /* in thread caches */
  size_t peak_blocks;   /* the most that were live or cached: the budget that was needed */
  uint64_t hits;        /* served by the thread's cache */
  uint64_t misses;      /* served by the pool: the cache was empty or missing */
  uint64_t overflows;   /* served by a larger class */
  uint64_t routed;      /* passed on to the fallback, because pools were used up */
} talus_bounded_numbers;

/* The numbers of one pool. `pool` SIZE_MAX: sums over all, with block_bytes 0, and `routed`
 * includes requests too large or too aligned for pools. Any other number: zeros. */
TALUS_API talus_bounded_numbers talus_bounded_stats(talus_bounded* instance,
                                                    size_t pool) TALUS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* not by way of the one header */

#endif /* TALUS_BOUNDED_H */
