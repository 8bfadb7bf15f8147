/* SPDX-License-Identifier: MIT
 *
 * talus.h: the C interface of Talus, a general-purpose memory allocator for Linux.
 *
 * A program does not need this header to run on Talus: preloading or linking the library replaces
 * malloc and its family. The functions below have names of their own. They serve programs that use
 * both allocators, and offer what the C library does not have.
 *
 * All functions are thread-safe. Any thread may free a block. Sizes are in bytes. Without memory,
 * functions that return a block return null and set errno to ENOMEM. Every block is aligned to at
 * least 16 bytes. talus_* and malloc/free of the same library share one heap. */
#ifndef TALUS_TALUS_H
#define TALUS_TALUS_H

#if defined(TALUS_HEADER_ONLY) && !defined(__cplusplus)
#error "TALUS_HEADER_ONLY is for C++: a C program links the library"
#elif defined(TALUS_HEADER_ONLY) && !defined(TALUS_ONE_HEADER)
#include "talus/talus.hpp" /* the one header, which has all that is declared here */
#else

#include <stddef.h>
#include <stdint.h>

#define TALUS_VERSION_MAJOR 0
#define TALUS_VERSION_MINOR 2
#define TALUS_VERSION_PATCH 0
#define TALUS_VERSION "0.2.0"

#if defined(TALUS_HEADER_ONLY)
#define TALUS_API static inline
#else
#define TALUS_API extern
#endif

#ifdef __cplusplus
#define TALUS_NOEXCEPT noexcept
#define TALUS_INT_ENUM : int /* any value may be passed, and is checked */
extern "C" {
#else
#define TALUS_NOEXCEPT
#define TALUS_INT_ENUM
#endif

/* A block of at least `bytes` bytes, contents undefined. Zero bytes give a block of their own.
 * Errors: null, errno ENOMEM. */
TALUS_API void* talus_malloc(size_t bytes) TALUS_NOEXCEPT;

/* A block that is zero up to its usable size, for `count` objects of `bytes` bytes. Large blocks
 * fresh from the kernel are not touched. (calloc of the C library zeroes only the requested bytes.)
 * Errors: null, errno ENOMEM, also when the product overflows. */
TALUS_API void* talus_calloc(size_t count, size_t bytes) TALUS_NOEXCEPT;

/* The same for one object, and at a multiple of `alignment`, a power of two (else: EINVAL). */
TALUS_API void* talus_zalloc(size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_calloc_aligned(size_t alignment, size_t count, size_t bytes) TALUS_NOEXCEPT;

/* Changes the size of a block. The contents stay up to the smaller size; the block may move.
 * `pointer` null: acts as talus_malloc. `bytes` 0: frees the block, returns null. The kernel moves
 * large blocks. Errors: null, errno ENOMEM, the block is untouched. */
TALUS_API void* talus_realloc(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* Like talus_realloc to count * bytes. Errors: also ENOMEM when the product overflows. */
TALUS_API void* talus_reallocarray(void* pointer, size_t count, size_t bytes) TALUS_NOEXCEPT;

/* Like talus_realloc, but frees the block when it cannot be resized (FreeBSD). */
TALUS_API void* talus_reallocf(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* Like talus_reallocarray, but new memory is zero, and the old block is cleared (OpenBSD).
 * `old_count` is the present number. Errors: EINVAL when the old size cannot be right. */
TALUS_API void* talus_recallocarray(void* pointer, size_t old_count, size_t count,
                                    size_t bytes) TALUS_NOEXCEPT;

/* Like talus_realloc and talus_reallocarray, but the bytes that the block gains are zero. Talus
 * does not record the requested size, so this holds on these terms. The block came from
 * talus_calloc, talus_zalloc, talus_calloc_aligned or these two (with null). No other function
 * resized it, and the program wrote nothing after the requested bytes. Then all bytes after the
 * newly requested ones are zero, up to the usable size. In any other block, bytes after the old
 * usable size are zero; bytes between the old request and the old usable size are undefined.
 * `pointer` null: acts as talus_zalloc. Errors: null, errno ENOMEM, the block is untouched. */
TALUS_API void* talus_rezalloc(void* pointer, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_recalloc(void* pointer, size_t count, size_t bytes) TALUS_NOEXCEPT;

/* Resizes a block in place to hold `bytes` bytes. Returns `pointer`, or null when it cannot or when
 * `pointer` is null; then the block is unchanged. errno is kept. A small block can grow up to its
 * usable size. A large one can also grow while the addresses after it are free. Pages that a large
 * block no longer needs when it shrinks are free memory, and go to the kernel as such. */
TALUS_API void* talus_expand(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* A block of `bytes` bytes, contents undefined, in place of `pointer`. The old block is always
 * freed, so nothing is copied and both never exist at once. May return the same address. `pointer`
 * null: acts as talus_malloc. `bytes` 0: frees, returns null. Errors: null, errno ENOMEM. */
TALUS_API void* talus_realloc_no_preserve(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* Like talus_realloc, but the result is at a multiple of `alignment`, a power of two. The old block
 * may have any alignment. Errors: null, errno EINVAL or ENOMEM, the block is untouched. */
TALUS_API void* talus_aligned_realloc(void* pointer, size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Frees a block. Null is ignored, errno is kept. A pointer that is no live block is reported on
 * standard error and ends the process. Option on_foreign_free=ignore exempts pointers into no block
 * of Talus. For a block up to 256 KiB, a second free or a pointer into it may be detected late:
 * when the thread's list is flushed to the slab. It is not detected if the block was handed out
 * again before. All other mistakes are detected at once, and so are all of these with
 * TALUS_MODE=checked or mapped. */
TALUS_API void talus_free(void* pointer) TALUS_NOEXCEPT;

/* C23: free with the size (and alignment) of the request. A wrong size is harmless, and is
 * reported with TALUS_MODE=hardened, or with checked and TALUS_CHECK_SIZES=1. */
TALUS_API void talus_free_sized(void* pointer, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void talus_free_aligned_sized(void* pointer, size_t alignment,
                                        size_t bytes) TALUS_NOEXCEPT;

/* Clears the first `bytes` bytes so that no compiler drops it, then frees the block (OpenBSD). */
TALUS_API void talus_freezero(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* A block at a multiple of `alignment`, a power of two. Errors: null, errno EINVAL or ENOMEM. */
TALUS_API void* talus_aligned_alloc(size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Like talus_aligned_alloc, but rounds an alignment up to a power of two. */
TALUS_API void* talus_memalign(size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* A block whose byte at `offset` is at a multiple of `alignment`, a power of two. It serves a
 * header in front of aligned data. `offset` is a multiple of 16 or of `alignment`. If it is not a
 * multiple of `alignment`, then `alignment` is at most 65536. talus_realloc does not keep the
 * place. Where no size class fits, the block gets 64 KiB of addresses and touches only its own
 * pages. Errors: null, errno EINVAL or ENOMEM. */
TALUS_API void* talus_memalign_at(size_t alignment, size_t offset, size_t bytes) TALUS_NOEXCEPT;

/* POSIX: stores the block in *result. Returns 0, or EINVAL or ENOMEM with *result and errno
 * unchanged. `alignment` is a power of two and a multiple of sizeof(void*). */
TALUS_API int talus_posix_memalign(void** result, size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Blocks at page boundaries; pvalloc also rounds the size up to whole pages. */
TALUS_API void* talus_valloc(size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_pvalloc(size_t bytes) TALUS_NOEXCEPT;

/* Usable bytes of a live block, at least the requested ones. Null: 0. */
TALUS_API size_t talus_usable_size(const void* pointer) TALUS_NOEXCEPT;

/* The bytes that talus_malloc(bytes) would provide. Above 4 KiB this is a minimum: a free block of
 * the next larger class may serve, or one of a class made for a size asked for often. */
TALUS_API size_t talus_good_size(size_t bytes) TALUS_NOEXCEPT;

/* A block and its usable bytes. */
typedef struct talus_block {
  void* pointer; /* null: no memory, errno ENOMEM (or EINVAL) */
  size_t bytes;  /* at least the requested ones; 0 with null */
} talus_block;

/* Like talus_malloc and talus_aligned_alloc, with the usable size. */
TALUS_API talus_block talus_allocate_at_least(size_t bytes) TALUS_NOEXCEPT;
TALUS_API talus_block talus_aligned_allocate_at_least(size_t alignment,
                                                      size_t bytes) TALUS_NOEXCEPT;

/* Stores `count` blocks of at least `bytes` bytes each in blocks[0...]. Returns how many there are.
 * Only too little memory gives fewer (errno ENOMEM), and the other places are then undefined. One
 * lock serves about a hundred small blocks. Each block may be freed alone. */
TALUS_API size_t talus_malloc_batch(size_t bytes, size_t count, void** blocks) TALUS_NOEXCEPT;

/* Frees blocks[0] to blocks[count - 1], of any size and origin. Null is ignored, errno is kept. It
 * is cheapest when blocks of one talus_malloc_batch are next to each other. */
TALUS_API void talus_free_batch(void* const* blocks, size_t count) TALUS_NOEXCEPT;

/* POSIX's strdup, strndup and realpath, in blocks of Talus. They copy a text, at most its first
 * `bytes_max` bytes, or the absolute path of a name. With `resolved`, a buffer of PATH_MAX bytes,
 * talus_realpath allocates nothing. Errors: null, errno ENOMEM, or an error of realpath. */
TALUS_API char* talus_strdup(const char* text) TALUS_NOEXCEPT;
TALUS_API char* talus_strndup(const char* text, size_t bytes_max) TALUS_NOEXCEPT;
TALUS_API char* talus_realpath(const char* path, char* resolved) TALUS_NOEXCEPT;

/* Purges free memory of all threads, except the blocks in their lists: the kernel gets its pages.
 * Keeps up to `keep_bytes` of it for reuse. Returns the bytes purged. */
TALUS_API size_t talus_trim(size_t keep_bytes) TALUS_NOEXCEPT;

/* Purges at least `bytes` bytes of free memory of all threads, if they exist. Returns the bytes
 * purged; 0 bytes asks for nothing. */
TALUS_API size_t talus_release(size_t bytes) TALUS_NOEXCEPT;

/* Limits the memory that Talus has from the kernel, from now on; 0: none. Above `soft_bytes`, free
 * memory goes to the kernel at once. An allocation that would exceed `hard_bytes` calls the handler
 * below, and then fails with ENOMEM. A soft limit above the hard one is lowered to it. Options
 * limit_soft and limit_hard set both at start. Not counted: heaps with a provider or pages of their
 * own, pools, and blocks of TALUS_MODE=mapped. */
TALUS_API void talus_set_limits(size_t soft_bytes, size_t hard_bytes) TALUS_NOEXCEPT;

/* Called before an allocation of `wanted_bytes` fails at the hard limit, without locks of Talus, on
 * the allocating thread, maybe on several at once. It may free memory or raise the limit. Nonzero:
 * try the allocation again; 0: let it fail. Null: no handler. */
typedef int (*talus_limit_handler)(size_t wanted_bytes);
TALUS_API void talus_set_limit_handler(talus_limit_handler handler) TALUS_NOEXCEPT;

/* Called before pages of Talus leave or move: from then on `at` has other memory, or none. It runs
 * on the changing thread, maybe on several at once, with locks held. So it must not allocate, free
 * or call Talus. Null: none. Set it before threads free memory. More: docs/design/giving-back.md.
 * Libraries that hook the C library instead need option libc_calls. */
typedef void (*talus_page_listener)(void* at, size_t bytes);
TALUS_API void talus_set_page_listener(talus_page_listener listener) TALUS_NOEXCEPT;

/* ---- options
 *
 * docs/options.md lists them; docs/configuration.md says where they come from. Names may have any
 * case, with or without TALUS_ in front.
 *
 * A program may define options, as lines or separated by semicolons:
 *     const char talus_options[] = "preset=small; decay_ms=100ms";
 * (in C++ after including this header, or with extern "C"). Files, the environment and calls are
 * stronger. With a preloaded Talus the dynamic linker must see this name: link with -rdynamic or
 * -Wl,--export-dynamic-symbol=talus_options. */
extern const char talus_options[] __attribute__((weak, visibility("default")));

/* Changes an option from now on. It must be one that docs/options.md marks "while running":
 * decay_ms, retain_bytes, arena_bytes, thp, limit_soft and limit_hard. Memory that is free already
 * keeps its state until the next free, or until the background thread looks. Returns 0, or an error
 * without a change. EINVAL: a null pointer or a malformed value; ERANGE: a value out of range;
 * ENOENT: an unknown name; EPERM: an option read only at start. errno is kept. Any thread may call
 * it, also before main; not for signal handlers. */
TALUS_API int talus_set_option(const char* name, const char* value) TALUS_NOEXCEPT;

/* Writes the value of an option into `text`, of `bytes` bytes, in the form of the environment; or
 * the source of the value: "default", "program", "/etc/talus.conf:12", "~/.config/talus.conf:3",
 * "environment", "call", with "preset small, " in front for a value of a preset. A zero always ends
 * it. Returns 0, EINVAL for null pointers or no bytes, ENOENT for an unknown name, ERANGE for a
 * text that was cut. errno is kept. Any thread may call it, also before main; not for signal
 * handlers. */
TALUS_API int talus_get_option(const char* name, char* text, size_t bytes) TALUS_NOEXCEPT;
TALUS_API int talus_option_source(const char* name, char* text, size_t bytes) TALUS_NOEXCEPT;

/* ---- statistics */

/* Stores in *value the statistic of this name, such as "heap.live_bytes", "class.64.live_blocks",
 * "thread.0.list_bytes", "instance.NAME.live_bytes" (of a program's own heap, by name or number) or
 * "process.minor_faults". docs/statistics.md lists all, with units. Exact while no thread
 * allocates. Otherwise moving values may be off, and values of threads may be stale. resident.* and
 * process.resident_bytes ask the kernel about every page; all others are cheap. Returns 0, or with
 * *value unchanged: EINVAL for a null pointer, ENOENT for an unknown name, ENODATA for a value not
 * known here (calls.* while calls are not counted). errno is kept. Not for signal handlers. */
TALUS_API int talus_get(const char* name, uint64_t* value) TALUS_NOEXCEPT;

/* Bytes of blocks that the calling thread has allocated since the process first called this, or
 * since the thread began. Exact: two calls tell what the code between them allocated. A resize
 * counts as a new block. From the first call on, a malloc and its free take about 2 ns more
 * (header-only: the slow path). 0 also if too many modes are on. Not for signal handlers. */
TALUS_API uint64_t talus_thread_allocated(void) TALUS_NOEXCEPT;

enum talus_stats_format TALUS_INT_ENUM {
  TALUS_STATS_TEXT = 0,       /* for people */
  TALUS_STATS_JSON = 1,       /* one object on one line */
  TALUS_STATS_CSV = 2,        /* RFC 4180, a header and one row */
  TALUS_STATS_OPENMETRICS = 3 /* one exposition, ended by # EOF */
};

/* Writes all statistics to a file descriptor, and may block. Returns 0, or EINVAL for an unknown
 * format, EBUSY when other threads print for more than a second, or the error of write(2). errno is
 * kept. It allocates nothing, so it works without memory; not for signal handlers. */
TALUS_API int talus_stats_print(int descriptor, enum talus_stats_format format) TALUS_NOEXCEPT;

/* ---- a program's own heaps
 *
 * All blocks of such a heap can be freed at once, limited, listed and told from other blocks.
 * All functions on one heap may run on any threads at the same time; they take its lock.
 * talus_free and free take its blocks on any thread; talus_realloc and its variants keep blocks
 * in their heap. While talus_heap_clear, _destroy or _delete runs, no other thread uses the heap
 * or its blocks; only talus_free and free may take blocks during talus_heap_delete. A dead or
 * invalid handle is reported on standard error and ends the process, also after a new heap was
 * made. So is a block freed after its heap, unless its addresses are in use again. A heap takes
 * 64 KiB of addresses, or a few times as many, for each size class in use. It touches the pages
 * of its blocks and about 12 KiB of its own. 64511 may be alive at a time. The child of a fork
 * has all heaps. */
typedef struct talus_heap talus_heap; /* a value, never an address */

/* The caller's own provider of memory (docs/providers.md). All functions get `context` and run on
 * the thread that uses the heap. Other threads may wait during commit and purge, so these must not
 * use Talus. Addresses and bytes are multiples of the page. */
typedef struct talus_provider_calls {
  /* Reserves `bytes` bytes of addresses at a multiple of the page; null: none. Once a heap. */
  void* (*reserve)(void* context, size_t bytes);
  /* Makes the range readable and writable. 0: done; else there is no memory, and the allocation
   * fails. Null: reserved memory can be used. */
  int (*commit)(void* context, void* at, size_t bytes);
  /* The range is not needed. Talus commits it again before use. 0: done; else it stays committed.
   * Null: memory stays until the heap ends. */
  int (*purge)(void* context, void* at, size_t bytes);
  /* The heap has ended: takes back all that reserve returned. Null: nothing happens. */
  void (*release)(void* context, void* at, size_t bytes);
} talus_provider_calls;

enum talus_provider_kind TALUS_INT_ENUM {
  TALUS_PROVIDER_OS = 0,       /* the kernel; with `bytes`: in pages of the heap's own */
  TALUS_PROVIDER_BUFFER = 1,   /* only the caller's `buffer`, at least 128 KiB */
  TALUS_PROVIDER_PREALLOC = 2, /* memory taken at the start */
  TALUS_PROVIDER_FILE = 3,     /* a file without a name in `directory` */
  TALUS_PROVIDER_CALLBACKS = 4 /* `calls` with `context` */
};
#define TALUS_PROVIDER_FALLBACK 1u /* beyond its preallocation a heap has the kernel's memory */
#define TALUS_PROVIDER_GROW 2u     /* a file takes room on the disk as it is needed, not at once */

typedef struct talus_provider {
  enum talus_provider_kind kind;
  unsigned flags;
  size_t bytes; /* the most that the heap may have, except with FALLBACK; size of the buffer */
  void* buffer; /* lives as long as the heap, which alone may touch it */
  const char* directory;
  const talus_provider_calls* calls; /* copied */
  void* context;
} talus_provider;

/* A flag of a heap: its blocks lie in addresses that no other heap uses, and it may have no more of
 * them. These are provider->bytes, or 64 GiB, or as many as the kernel gives. /proc/PID/maps then
 * shows its name as [anon:talus:NAME], where the kernel can. */
#define TALUS_HEAP_OWN_PAGES 1u

/* CHECKED, of a heap: each wrong free and resize of its blocks stops at once (docs/modes.md). */
enum talus_mode TALUS_INT_ENUM { TALUS_MODE_PROCESS = 0, TALUS_MODE_CHECKED = 1 };

struct talus_heap_options {
  const char* name;   /* the first 31 characters are copied; null: "" */
  size_t limit_bytes; /* on the bytes of its slabs and large blocks; 0: none. With a provider: on
                       * live bytes, and separately on what falls back */
  unsigned flags;     /* 0 or TALUS_HEAP_OWN_PAGES */
  const talus_provider* provider; /* where its memory comes from; null: the kernel. Copied */
  unsigned numa_node; /* one more than the preferred node, with TALUS_HEAP_OWN_PAGES; 0: none */
  enum talus_mode mode;
};

/* A new heap; `options` null: no name, no limit. Errors: null with an errno. ENOMEM also when no
 * file can be made. EINVAL for unknown flags, an unknown mode, an impossible provider, a missing
 * node, or a node with a provider other than the kernel and a preallocation. EPERM where the
 * process may not ask for a node. */
TALUS_API talus_heap* talus_heap_new(const struct talus_heap_options* options) TALUS_NOEXCEPT;

/* Like talus_malloc, talus_calloc and talus_aligned_alloc, in this heap; null is the heap of
 * talus_malloc. Errors: null, errno ENOMEM, also at the heap's limit, without a call of the
 * process's limit handler; EINVAL for an alignment that is no power of two. */
TALUS_API void* talus_heap_malloc(talus_heap* heap, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_heap_calloc(talus_heap* heap, size_t count, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_heap_aligned_alloc(talus_heap* heap, size_t alignment,
                                         size_t bytes) TALUS_NOEXCEPT;

/* Like talus_realloc and talus_free, but report a block of another heap. `pointer` null: a new
 * block; nothing. A growing block counts only for its additional bytes, also if it moves. A
 * shrinking block stays in place if there is no room for another. */
TALUS_API void* talus_heap_realloc(talus_heap* heap, void* pointer, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void talus_heap_free(talus_heap* heap, void* pointer) TALUS_NOEXCEPT;

/* Frees all blocks of the heap, in one step for each slab and large block. talus_heap_clear keeps
 * the heap; talus_heap_destroy does not (null: nothing happens). */
TALUS_API void talus_heap_clear(talus_heap* heap) TALUS_NOEXCEPT;
TALUS_API void talus_heap_destroy(talus_heap* heap) TALUS_NOEXCEPT;

/* Ends the heap; its blocks live on as if talus_malloc had made them. Null: nothing. Returns 0, or
 * an error without a change. ENOMEM: no thread could get a heap so far. EINVAL: the heap is in a
 * buffer or by callbacks, and the caller wants that memory back. Pages of a heap's own, a
 * preallocation and a file stay until the last block in them is freed. */
TALUS_API int talus_heap_delete(talus_heap* heap) TALUS_NOEXCEPT;

/* The heap of a live block; null: the one of talus_malloc, or no block of Talus. */
TALUS_API talus_heap* talus_heap_of(const void* pointer) TALUS_NOEXCEPT;

/* 1: `pointer` is the start of a live block of this heap, 0: it is not. Takes any pointer. */
TALUS_API int talus_heap_contains(talus_heap* heap, const void* pointer) TALUS_NOEXCEPT;

/* A range of addresses with equal blocks; a large block has an area of its own. */
typedef struct talus_heap_area {
  const void* base;
  size_t bytes;
  size_t block_bytes; /* usable size of its blocks */
  size_t blocks;
  size_t live_blocks;
} talus_heap_area;

/* Calls `visitor` for each area with live blocks, by address: first with `block` null, then for
 * each live block. Any answer but 0 ends the walk. Returns the last answer. The visitor may free
 * the block and use any heap. Blocks that come or go in its area meanwhile may be missed. */
typedef int (*talus_heap_visitor)(const talus_heap_area* area, void* block, void* context);
TALUS_API int talus_heap_walk(talus_heap* heap, talus_heap_visitor visitor,
                              void* context) TALUS_NOEXCEPT;

/* Where the memory of a heap is, all at one moment. */
typedef struct talus_heap_numbers {
  size_t live_bytes; /* of blocks that the program holds; hardened: with their trailers */
  size_t live_blocks;
  size_t slab_bytes; /* addresses for small blocks, live and free */
  size_t slabs;
  size_t large_bytes; /* of live_bytes, in blocks above 32 KiB */
  size_t large_blocks;
  size_t peak_bytes;  /* the most that slab_bytes + large_bytes ever was */
  size_t limit_bytes; /* the limit of that sum; 0: none */
} talus_heap_numbers;
TALUS_API talus_heap_numbers talus_heap_stats(talus_heap* heap) TALUS_NOEXCEPT;

/* The name of the heap; valid while the heap lives. */
TALUS_API const char* talus_heap_name(talus_heap* heap) TALUS_NOEXCEPT;

/* The version of the library in use, such as "1.2.3"; compare with TALUS_VERSION. */
TALUS_API const char* talus_version(void) TALUS_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* not by way of the one header */
#endif /* TALUS_TALUS_H */
