/* SPDX-License-Identifier: MIT
 *
 * talus.h: the C interface of Talus, a general-purpose memory allocator for Linux.
 *
 * A program does not need this header to run on Talus: preloading or linking the library replaces
 * malloc and its family. The functions below are the same under names of their own, for programs
 * that want both allocators, and for what the C library has no name for.
 *
 * All functions are thread-safe. Blocks may be freed by any thread. Sizes are in bytes. Functions
 * that return a block return null and set errno to ENOMEM when there is no memory; every block is
 * aligned to 16 bytes at least. talus_* and malloc/free of the same library share one heap.
 */
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
#define TALUS_VERSION_MINOR 1
#define TALUS_VERSION_PATCH 0
#define TALUS_VERSION "0.1.0"

#if defined(TALUS_HEADER_ONLY)
#define TALUS_API static inline
#else
#define TALUS_API extern
#endif

#ifdef __cplusplus
#define TALUS_NOEXCEPT noexcept
extern "C" {
#else
#define TALUS_NOEXCEPT
#endif

/* A block of at least `bytes` bytes, contents undefined. Zero bytes give a block of their own.
 * Errors: null, errno ENOMEM. */
TALUS_API void* talus_malloc(size_t bytes) TALUS_NOEXCEPT;

/* A block that is zero up to its usable size, for `count` objects of `bytes` bytes. Errors: null,
 * errno ENOMEM, also when the product overflows. Large blocks fresh from the kernel are not
 * touched. (calloc of the C library is zero only as far as was asked for.) */
TALUS_API void* talus_calloc(size_t count, size_t bytes) TALUS_NOEXCEPT;

/* The same for one object, and at a multiple of `alignment`, a power of two (else: EINVAL). */
TALUS_API void* talus_zalloc(size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_calloc_aligned(size_t alignment, size_t count, size_t bytes) TALUS_NOEXCEPT;

/* Changes the size of a block; contents are kept up to the smaller size; the block may move.
 * `pointer` null: acts as talus_malloc. `bytes` 0: frees the block, returns null.
 * Errors: null, errno ENOMEM, the block is untouched. Large blocks are moved by the kernel. */
TALUS_API void* talus_realloc(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* As talus_realloc to count * bytes. Errors: also ENOMEM when the product overflows. */
TALUS_API void* talus_reallocarray(void* pointer, size_t count, size_t bytes) TALUS_NOEXCEPT;

/* As talus_realloc, but frees the block when it cannot be resized (FreeBSD). */
TALUS_API void* talus_reallocf(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* As talus_reallocarray; new memory is zero and memory given up is cleared (OpenBSD). `old_count`
 * is the present number of objects. Errors: EINVAL when the old size cannot be right. */
TALUS_API void* talus_recallocarray(void* pointer, size_t old_count, size_t count,
                                    size_t bytes) TALUS_NOEXCEPT;

/* As talus_realloc and talus_reallocarray, and what the block has more than before is zero. Nobody
 * knows how much of a block the program asked for, so this holds on these terms: the block came
 * from talus_calloc, talus_zalloc, talus_calloc_aligned or these two (with null), no other function
 * resized it, and the program wrote nothing behind the bytes it asked for. Then everything behind
 * the bytes asked for now is zero, up to the usable size. Of any other block, bytes from the old
 * usable size on are zero, and what lies between the size asked for before and the old usable size
 * may be anything. `pointer` null: acts as talus_zalloc. Errors: null, errno ENOMEM, the block is
 * untouched. */
TALUS_API void* talus_rezalloc(void* pointer, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_recalloc(void* pointer, size_t count, size_t bytes) TALUS_NOEXCEPT;

/* Makes a block hold `bytes` bytes where it is: returns `pointer`, or null when it cannot or
 * `pointer` is null; errno is kept, and the block is as before. A small block can up to its usable
 * size; a large one also while the addresses behind it are free. A large block that is made
 * smaller gives back what it no longer needs. */
TALUS_API void* talus_expand(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* A block of `bytes` bytes, contents undefined, in the place of `pointer`, which is gone in any
 * case, so nothing is copied and both never exist at once. May return the same address. `pointer`
 * null: acts as talus_malloc. `bytes` 0: frees, returns null. Errors: null, errno ENOMEM, and the
 * old block is freed. */
TALUS_API void* talus_realloc_no_preserve(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* As talus_realloc; the block is at a multiple of `alignment`, a power of two, whatever it was
 * before. Errors: null, errno EINVAL or ENOMEM, the block is untouched. */
TALUS_API void* talus_aligned_realloc(void* pointer, size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Frees a block. Null is ignored, errno is kept. A pointer that is no live block is reported on
 * standard error and ends the process; option on_foreign_free=ignore leaves out those that are of
 * no block of Talus. A second free of a block up to 256 KiB, and a pointer into one, are noticed at
 * the latest when the thread's list gives it to its slab, and not if it was handed out again
 * before; all others, and all with TALUS_MODE=mapped, at once. */
TALUS_API void talus_free(void* pointer) TALUS_NOEXCEPT;

/* C23: free with the size (and alignment) of the request. A wrong size is harmless. */
TALUS_API void talus_free_sized(void* pointer, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void talus_free_aligned_sized(void* pointer, size_t alignment,
                                        size_t bytes) TALUS_NOEXCEPT;

/* Clears the first `bytes` bytes of a block in a way no compiler drops, then frees it (OpenBSD). */
TALUS_API void talus_freezero(void* pointer, size_t bytes) TALUS_NOEXCEPT;

/* A block at a multiple of `alignment`, a power of two. Errors: null, errno EINVAL or ENOMEM. */
TALUS_API void* talus_aligned_alloc(size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* As talus_aligned_alloc; an alignment that is no power of two is rounded up to one. */
TALUS_API void* talus_memalign(size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* A block in which the byte at `offset` is at a multiple of `alignment`, a power of two: for a
 * header in front of aligned data. Blocks start at multiples of 16, so `offset` is a multiple of 16
 * or of `alignment`, and where it is none of `alignment`, that is at most 65536. talus_realloc does
 * not keep the place. Where no class of blocks has such places, the block gets a range of 64 KiB of
 * addresses, of which it touches only its pages. Errors: null, errno EINVAL or ENOMEM. */
TALUS_API void* talus_memalign_at(size_t alignment, size_t offset, size_t bytes) TALUS_NOEXCEPT;

/* POSIX: stores the block in *result. Returns 0, or EINVAL or ENOMEM with *result and errno
 * unchanged. `alignment` is a power of two and a multiple of sizeof(void*). */
TALUS_API int talus_posix_memalign(void** result, size_t alignment, size_t bytes) TALUS_NOEXCEPT;

/* Blocks at page boundaries; pvalloc also rounds the size up to whole pages. */
TALUS_API void* talus_valloc(size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_pvalloc(size_t bytes) TALUS_NOEXCEPT;

/* Bytes of a live block that may be used, at least what was asked for. Null: 0. */
TALUS_API size_t talus_usable_size(const void* pointer) TALUS_NOEXCEPT;

/* Bytes that talus_malloc(bytes) would provide; above 32 KiB at least that many: up to 256 KiB a
 * free block of the next larger class may serve. */
TALUS_API size_t talus_good_size(size_t bytes) TALUS_NOEXCEPT;

/* A block and how many bytes of it may be used. */
typedef struct talus_block {
  void* pointer; /* null: there is no memory, errno ENOMEM (or EINVAL) */
  size_t bytes;  /* at least what was asked for; 0 with null */
} talus_block;

/* As talus_malloc and talus_aligned_alloc, and tells the size. */
TALUS_API talus_block talus_allocate_at_least(size_t bytes) TALUS_NOEXCEPT;
TALUS_API talus_block talus_aligned_allocate_at_least(size_t alignment,
                                                      size_t bytes) TALUS_NOEXCEPT;

/* Stores `count` blocks of at least `bytes` bytes each in blocks[0...]. Returns how many there are;
 * fewer than `count` only when there is no memory for more (errno ENOMEM), and the others' places
 * are undefined then. Small blocks come by the hundred for each lock that is taken. Each may be
 * freed alone. */
TALUS_API size_t talus_malloc_batch(size_t bytes, size_t count, void** blocks) TALUS_NOEXCEPT;

/* Frees blocks[0] to blocks[count - 1], of any sizes and wherever they are from; null ones are
 * ignored, errno is kept. Cheapest where blocks of one talus_malloc_batch lie together. */
TALUS_API void talus_free_batch(void* const* blocks, size_t count) TALUS_NOEXCEPT;

/* Copies of a text, of its first `bytes_max` bytes at most, and of the absolute path behind a name:
 * POSIX's strdup, strndup and realpath, in blocks of Talus. With `resolved`, a buffer of PATH_MAX
 * bytes, talus_realpath allocates nothing. Errors: null, errno ENOMEM, or what realpath says. */
TALUS_API char* talus_strdup(const char* text) TALUS_NOEXCEPT;
TALUS_API char* talus_strndup(const char* text, size_t bytes_max) TALUS_NOEXCEPT;
TALUS_API char* talus_realpath(const char* path, char* resolved) TALUS_NOEXCEPT;

/* Gives free memory back to the kernel, of all threads as far as they do not hold it in lists, but
 * keeps up to `keep_bytes` of it for reuse. Returns the bytes given back. */
TALUS_API size_t talus_trim(size_t keep_bytes) TALUS_NOEXCEPT;

/* Gives at least `bytes` bytes of free memory back to the kernel if there are that many, from all
 * threads. Returns the bytes given back; 0 bytes asks for nothing. */
TALUS_API size_t talus_release(size_t bytes) TALUS_NOEXCEPT;

/* Limits on the memory that Talus has from the kernel, from now on; 0: none. Above `soft_bytes`
 * free memory goes back to the kernel at once; an allocation with which there would be more than
 * `hard_bytes` fails with ENOMEM, after the handler below was asked. A soft limit above the hard
 * one is taken down to it. At start they are options limit_soft and limit_hard. Not counted: heaps
 * with a provider or pages of their own, pools, and blocks of TALUS_MODE=mapped. */
TALUS_API void talus_set_limits(size_t soft_bytes, size_t hard_bytes) TALUS_NOEXCEPT;

/* Asked before an allocation of `wanted_bytes` fails at the hard limit, on the allocating thread,
 * also on several at a time, without locks of Talus. It may free memory or raise the limit, and
 * returns nonzero to have the allocation tried again; 0: let it fail. Null: none. */
typedef int (*talus_limit_handler)(size_t wanted_bytes);
TALUS_API void talus_set_limit_handler(talus_limit_handler handler) TALUS_NOEXCEPT;

/* Told before pages of Talus leave or move: from then on `at` has other memory, or none. Called on
 * the changing thread, also on several at a time, with locks held: it must not allocate, free or
 * call Talus. Null: none. Set it before threads free memory. docs/design/giving-back.md has more,
 * and option libc_calls is for libraries that hook the C library instead. */
typedef void (*talus_page_listener)(void* at, size_t bytes);
TALUS_API void talus_set_page_listener(talus_page_listener listener) TALUS_NOEXCEPT;

/* ---- options
 *
 * docs/options.md lists them, docs/configuration.md says where they come from. Names are taken in
 * any case, with or without TALUS_ in front.
 *
 * Options that a program brings along, as lines or copied by semicolons:
 *     const char talus_options[] = "preset=small; decay_ms=100ms";
 * (in C++ after including this header, or with extern "C"). Files, the environment and calls are
 * stronger. The dynamic linker must be able to see it where Talus is preloaded and not linked: link
 * with -rdynamic or -Wl,--export-dynamic-symbol=talus_options then. */
extern const char talus_options[] __attribute__((weak, visibility("default")));

/* Changes an option from now on, one that docs/options.md calls "while running": decay_ms,
 * retain_bytes, arena_bytes, thp, limit_soft and limit_hard. What is free already stays as it is
 * until memory is freed next or the helper looks. Returns 0, or with nothing changed: EINVAL for a
 * null pointer or a value that is not understood, ERANGE for one out of range, ENOENT for a name
 * that is no option's, EPERM for an option that is read at start only. errno is kept. Any thread
 * may call it, also before main; not for handlers of signals. */
TALUS_API int talus_set_option(const char* name, const char* value) TALUS_NOEXCEPT;

/* Writes into `text`, of `bytes` bytes, the value of an option as it would be written in the
 * environment, or where the value is from: "default", "program", "/etc/talus.conf:12",
 * "~/.config/talus.conf:3", "environment", "call", with "preset small, " in front where a preset is
 * meant by it. Always ended by a zero. Returns 0, EINVAL for null pointers or no bytes, ENOENT for
 * an unknown name, ERANGE when the text was cut to fit. errno is kept; threads and signals as
 * above. */
TALUS_API int talus_get_option(const char* name, char* text, size_t bytes) TALUS_NOEXCEPT;
TALUS_API int talus_option_source(const char* name, char* text, size_t bytes) TALUS_NOEXCEPT;

/* ---- statistics */

/* Stores in *value the statistic of this name, like "heap.live_bytes", "class.64.live_blocks",
 * "thread.0.list_bytes", "instance.NAME.live_bytes" (of a heap of one's own, by its name or number)
 * or "process.minor_faults"; docs/statistics.md has them all, with units.
 * Exact while no thread allocates; otherwise what moves during the look may be off, and values of
 * threads may be stale. Names of resident.* and process.resident_bytes ask the kernel about every
 * page, all others are cheap. Returns 0, or with *value unchanged: EINVAL for a null pointer,
 * ENOENT when there is no such name, ENODATA when the value is not known here (calls.* while calls
 * are not counted). errno is kept. Allocates nothing; not for handlers of signals. */
TALUS_API int talus_get(const char* name, uint64_t* value) TALUS_NOEXCEPT;

enum talus_stats_format {
  TALUS_STATS_TEXT = 0,       /* for people */
  TALUS_STATS_JSON = 1,       /* one object on one line */
  TALUS_STATS_CSV = 2,        /* RFC 4180, a header and one row */
  TALUS_STATS_OPENMETRICS = 3 /* one exposition, ended by # EOF */
};

/* Writes all statistics to a file descriptor, which may block. Returns 0, or EINVAL for an unknown
 * format, EBUSY when other threads print for more than a second, or the error of write(2). errno is
 * kept. Allocates nothing, so it works in a process that is out of memory; not for handlers of
 * signals. */
TALUS_API int talus_stats_print(int descriptor, enum talus_stats_format format) TALUS_NOEXCEPT;

/* ---- heaps of one's own
 *
 * A heap whose blocks can be given back all at once, bounded, listed and told apart from others'.
 * All functions on one heap may be called on any thread at the same time; they take its lock.
 * Blocks of a heap are blocks like others: talus_free and free take them on any thread, and
 * talus_realloc and its kin keep them in their heap. While talus_heap_clear, _destroy or _delete
 * runs, no other thread uses the heap or its blocks, but that talus_free and free may take blocks
 * during talus_heap_delete. A heap that is gone, or a value that was never one, is reported on
 * standard error and ends the process, also when a new heap was made since; so is a block that is
 * freed after its heap, unless its addresses are in use again. A heap takes 64 KiB of addresses, or
 * a few times that, for each size class in use; it touches the pages that its blocks need and about
 * 12 KiB of its own. 64511 may be alive at a time. In the child of a fork all heaps are there. */
typedef struct talus_heap talus_heap; /* a value, never an address */

/* What a provider of memory of the caller's own does (docs/providers.md). All are called with
 * `context`, on the thread that uses the heap; commit and purge while others may wait for it, so
 * they must not allocate from Talus or free to it. Addresses and bytes are multiples of the page.
 */
typedef struct talus_provider_calls {
  /* Addresses for `bytes` bytes at a multiple of the page; null: there are none. Once a heap. */
  void* (*reserve)(void* context, size_t bytes);
  /* The range can be read and written from here on. 0: yes; else there is no memory, and the
   * allocation fails. Null: what is reserved can be used. */
  int (*commit)(void* context, void* at, size_t bytes);
  /* Nothing in the range is needed; it is committed again before it is used. 0: done; else it stays
   * committed. Null: memory stays until the heap ends. */
  int (*purge)(void* context, void* at, size_t bytes);
  /* The heap has ended: what reserve gave, all of it. Null: nothing happens. */
  void (*release)(void* context, void* at, size_t bytes);
} talus_provider_calls;

enum talus_provider_kind {
  TALUS_PROVIDER_OS = 0,       /* the kernel; with `bytes`: in pages of the heap's own */
  TALUS_PROVIDER_BUFFER = 1,   /* `buffer` of the caller's, from 128 KiB up; nothing else */
  TALUS_PROVIDER_PREALLOC = 2, /* memory that is there from the start */
  TALUS_PROVIDER_FILE = 3,     /* a file without a name in `directory` */
  TALUS_PROVIDER_CALLBACKS = 4 /* `calls` with `context` */
};
/* Flags: a heap that has used up its preallocation goes on with memory of the kernel's; a file gets
 * its room on the disk as it is needed, not at once. */
#define TALUS_PROVIDER_FALLBACK 1u
#define TALUS_PROVIDER_GROW 2u

typedef struct talus_provider {
  enum talus_provider_kind kind;
  unsigned flags;
  size_t bytes; /* all that the heap may have, but for TALUS_PROVIDER_FALLBACK; of the buffer */
  void* buffer; /* lives as long as the heap, which alone may touch it */
  const char* directory;
  const talus_provider_calls* calls; /* copied */
  void* context;
} talus_provider;

/* A flag of a heap: its blocks lie in addresses that no other heap uses, 64 GiB or as many as
 * the kernel gives (or provider->bytes), and the heap may have no more. Its name is shown by
 * /proc/PID/maps then, as [anon:talus:NAME], where the kernel can. */
#define TALUS_HEAP_OWN_PAGES 1u

struct talus_heap_options {
  const char* name;   /* the first 31 characters are copied; null: "" */
  size_t limit_bytes; /* on the bytes of its slabs and large blocks; 0: none. Of a heap with a
                       * provider: on live bytes, and apart from that on what falls back */
  unsigned flags;     /* 0 or TALUS_HEAP_OWN_PAGES */
  const talus_provider* provider; /* where its memory comes from; null: the kernel. Copied */
  unsigned numa_node; /* one more than the node of the machine on which its memory shall lie while
                       * there is any; 0: none. Means TALUS_HEAP_OWN_PAGES */
};

/* A new heap; `options` null: no name, no limit. Errors: null, errno ENOMEM (also where no file can
 * be made), EINVAL for flags that there are not, a provider that is not possible, and a node that
 * there is not, or with a provider other than the kernel and a preallocation; EPERM where the
 * process may not ask for a node. */
TALUS_API talus_heap* talus_heap_new(const struct talus_heap_options* options) TALUS_NOEXCEPT;

/* As talus_malloc, talus_calloc and talus_aligned_alloc, in this heap; null is the heap that
 * talus_malloc serves. Errors: null, errno ENOMEM, also at the heap's limit, where the process's
 * limit handler is not asked; EINVAL for an alignment that is no power of two. */
TALUS_API void* talus_heap_malloc(talus_heap* heap, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_heap_calloc(talus_heap* heap, size_t count, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void* talus_heap_aligned_alloc(talus_heap* heap, size_t alignment,
                                         size_t bytes) TALUS_NOEXCEPT;

/* As talus_realloc and talus_free; a block that is not of this heap is reported. `pointer` null:
 * a new block; nothing. A block that grows counts for what it has more, also if it moves; one that
 * shrinks stays where it is if there is no room for another. */
TALUS_API void* talus_heap_realloc(talus_heap* heap, void* pointer, size_t bytes) TALUS_NOEXCEPT;
TALUS_API void talus_heap_free(talus_heap* heap, void* pointer) TALUS_NOEXCEPT;

/* All blocks of the heap are gone, in one step for each slab and large block, not for each block.
 * talus_heap_clear keeps the heap; talus_heap_destroy does not (null: nothing happens). */
TALUS_API void talus_heap_clear(talus_heap* heap) TALUS_NOEXCEPT;
TALUS_API void talus_heap_destroy(talus_heap* heap) TALUS_NOEXCEPT;

/* The heap is gone, its blocks live on as if talus_malloc had made them. Null: nothing. Returns 0,
 * or with everything as it was ENOMEM (only where no thread could get a heap so far), or EINVAL for
 * a heap in a buffer or by callbacks, whose memory the caller wants back. Pages of a heap's own, a
 * preallocation and a file stay until the last block in them is freed. */
TALUS_API int talus_heap_delete(talus_heap* heap) TALUS_NOEXCEPT;

/* The heap of a live block; null: the one of talus_malloc, or no block of Talus. */
TALUS_API talus_heap* talus_heap_of(const void* pointer) TALUS_NOEXCEPT;

/* 1: `pointer` is the start of a live block of this heap, 0: it is not. Any pointer may be asked
 * about. */
TALUS_API int talus_heap_contains(talus_heap* heap, const void* pointer) TALUS_NOEXCEPT;

/* A range of addresses with equal blocks; a large block has one of its own. */
typedef struct talus_heap_area {
  const void* base;
  size_t bytes;
  size_t block_bytes; /* usable size of its blocks */
  size_t blocks;
  size_t live_blocks;
} talus_heap_area;

/* Calls `visitor` for each area with live blocks, by address: first with `block` null, then for
 * each of these. Any answer but 0 ends the walk. Returns the last answer. The visitor may free the
 * block and use this heap and others; blocks that come or go in the same area meanwhile may be
 * missed, or be visited though they are gone. */
typedef int (*talus_heap_visitor)(const talus_heap_area* area, void* block, void* context);
TALUS_API int talus_heap_walk(talus_heap* heap, talus_heap_visitor visitor,
                              void* context) TALUS_NOEXCEPT;

/* Where the memory of a heap is; all of one moment. */
typedef struct talus_heap_numbers {
  size_t live_bytes; /* usable sizes of the blocks that the program holds */
  size_t live_blocks;
  size_t slab_bytes; /* addresses for small blocks, live and free */
  size_t slabs;
  size_t large_bytes; /* of live_bytes, in blocks above 32 KiB */
  size_t large_blocks;
  size_t peak_bytes;  /* the most that slab_bytes + large_bytes ever was, which is what */
  size_t limit_bytes; /* this limits; 0: not at all */
} talus_heap_numbers;
TALUS_API talus_heap_numbers talus_heap_stats(talus_heap* heap) TALUS_NOEXCEPT;

/* The name that the heap was given; valid while the heap lives. */
TALUS_API const char* talus_heap_name(talus_heap* heap) TALUS_NOEXCEPT;

/* The version of the library in use, like "1.2.3"; compare with TALUS_VERSION. */
TALUS_API const char* talus_version(void) TALUS_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* not by way of the one header */
#endif /* TALUS_TALUS_H */
