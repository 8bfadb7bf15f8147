// SPDX-License-Identifier: MIT
// base/config: every constant that someone might want to tune, with unit and reason.
//
// Owns: the roots; all else is derived from them where it is needed. Invariant: the static_asserts
// at the end, which state how the roots depend on each other. Must not know: types of other floors.
#ifndef TALUS_BASE_CONFIG_HPP
#define TALUS_BASE_CONFIG_HPP

#include <cstddef>
#include <cstdint>

namespace talus {

inline constexpr size_t kib = size_t{1} << 10;
inline constexpr size_t mib = size_t{1} << 20;

// Alignment of every block: what max_align_t asks for on all supported CPUs.
inline constexpr size_t block_alignment = 16;

// Size of the destructive-interference unit; two lines are fetched together, but 64 bytes is what
// a store takes away from another core.
inline constexpr size_t cache_line_bytes = 64;

// Unit of address space: page map words, slabs and large blocks count in slices. 64 KiB is the
// largest page size of the supported CPUs, so one library serves all of them.
inline constexpr unsigned slice_shift = 16;
inline constexpr size_t slice_bytes = size_t{1} << slice_shift;
// No kernel has smaller pages.
inline constexpr size_t page_bytes_min = 4 * kib;

// User-space addresses that the page map covers. Anything above is refused, not mis-indexed.
inline constexpr unsigned address_bits = 48;

// Largest small block. Slabs of small blocks have many, and an instance has slabs up to here.
inline constexpr size_t small_bytes_max = 32 * kib;
// Largest block that lives in a slab of a thread's heap: medium ones, few to a slab; above it a
// block is a span of its own.
inline constexpr size_t medium_bytes_max = 256 * kib;

// Size classes: linear up to here, then 2^spacing_shift classes to each doubling.
inline constexpr size_t linear_bytes_max = 128;
inline constexpr unsigned class_spacing_shift = 3;
// The same for classes above small_bytes_max: fewer, so that what a thread keeps serves most sizes.
inline constexpr unsigned medium_spacing_shift = 2;

// A slab has at least this many small blocks, so that one refill seldom needs two slabs.
inline constexpr size_t slab_blocks_min = 4;
// A slab of medium blocks is as short as it can be with at most this part of it behind the last
// block: what is free in it serves its class alone.
inline constexpr size_t medium_rest_part = 16;

// Heaps without threads that are asked for a slab of a class before a new one is made.
inline constexpr uint32_t donor_looks = 16;

// Bytes of blocks that one thread list may hold, and how many blocks at most and at least.
// 16 KiB of small blocks make batches long enough to hide the lock of a refill; of slow lists
// (below) nothing stays with a thread that rests, so they may hold more.
// An option may choose others up to list_bytes_most; slow lists have slow_list_factor times
// as much, and kept large blocks large_kept_factor times.
inline constexpr size_t list_bytes_max = 16 * kib;
inline constexpr size_t list_bytes_most = 64 * kib;
inline constexpr size_t slow_list_factor = 4;
// A list that runs empty and full in turn may get so many times as much, also in blocks, and all
// such lists of a thread together so many times the bytes of one.
inline constexpr size_t wide_list_factor = 4;
inline constexpr size_t wide_total_factor = 128;
inline constexpr size_t list_blocks_max = 1024;
inline constexpr size_t list_blocks_min = 4;
// Blocks up to this size are handed out by the fast paths. What a thread leaves behind when it
// rests can be taken back but for the uppermost block of each such list (cache/idle_caches.hpp), so
// lists of larger blocks are guarded: used in slow paths only, some dozens of instructions beside a
// block of that size.
inline constexpr size_t fast_bytes_max = 4 * kib;
// Blocks that hide the way to the slabs: a list that runs empty again and again, or is full again
// and again, moves so many at a time if it has room for them.
inline constexpr size_t list_batch_blocks = 32;
// A list has no room until its thread allocates of the class. It starts with a capacity of at most
// these blocks and bytes, one block at least, and doubles each time it runs empty, or over while it
// has less than this part of what its class may have.
inline constexpr size_t list_blocks_start = 8;
inline constexpr size_t list_bytes_start = 1 * kib;
inline constexpr size_t list_over_part = 4;

// Remote frees: how many owners a thread collects for at a time, and how many bytes of blocks at
// most for each before they are delivered.
inline constexpr size_t remote_owners = 8;
inline constexpr size_t remote_batch_bytes_max = 32 * kib;
// Of a delivery the two newest blocks stay with the thread, so that a second free of one meets
// itself, but for blocks above this size.
inline constexpr size_t newest_kept_bytes_max = 8 * kib;
// The same for blocks of the thread's own heap whose class it does not allocate: it brings them
// home itself, and waits for no other processor.
inline constexpr size_t return_batch_bytes_max = 16 * kib;
// Small blocks of other heaps have their first line taken by who frees them (store/remote.hpp).
// Larger ones may lie in pages that nobody touched.
inline constexpr size_t prefetched_bytes_max = 1 * kib;
// Blocks of other heaps from this size on may stay with the thread that frees them: they share no
// cache line with other blocks, so whoever gets them here slows nobody else down.
inline constexpr size_t foreign_bytes_min = 512;
// Blocks that come home fill a list up to this part of what its class may have.
inline constexpr size_t list_remote_part = 8;
// Delivered blocks wait for so many bytes while their heap has others to hand out.
inline constexpr size_t remote_wait_bytes = 128 * kib;
// Unused messages that move between a heap and the pool at a time.
inline constexpr uint32_t messages_moved = 8;
// Bytes of undelivered remote frees above which the deliverer does the owner's work.
inline constexpr size_t remote_backlog_bytes_max = 256 * kib;
// ... and above which it waits for its turn to do so: where the kernel took the processor from who
// was at it, others would pile up blocks, and messages, which stay.
inline constexpr size_t remote_backlog_bytes_most = 2 * mib;

// Ids of heaps for threads end below this; from here on they are those of instances, up to the last
// one that fits a page-map entry and is no context's.
inline constexpr size_t heap_count_max = size_t{1} << 10;
inline constexpr size_t instance_id_max = 0xfffe;
// Blocks that an instance has ready at most for each class, and their bytes.
inline constexpr size_t ready_blocks_max = 15;
inline constexpr size_t ready_bytes_max = 16 * kib;

// Address space is taken from the kernel in arenas of at least this much, aligned to this much
// (a huge page), growing with what is already reserved: 1/4 of it, so that their number stays
// logarithmic and what is reserved in vain stays small.
inline constexpr size_t arena_alignment = 2 * mib;
inline constexpr unsigned arena_growth_shift = 2;
inline constexpr size_t arena_growth_max = size_t{1} << 30;

// Once this much is with users, untouched addresses ask for huge pages: one page fault then does
// the work of 512. From the first bound on for large blocks, if the program filled what was taken
// for such before (space/fill_probe.hpp), as long as no more is taken on trust. From the second on
// where slabs grow fast (space/growth_pace.hpp) in a heap that is full but for 1/2; from the third
// on where it is full but for 1/4, from the fourth on for all slabs.
inline constexpr size_t huge_proven_bytes_min = 4 * mib;
inline constexpr size_t huge_fast_bytes_min = 8 * mib;
inline constexpr size_t huge_dense_bytes_min = 16 * mib;
inline constexpr size_t huge_sparse_bytes_min = 96 * mib;
inline constexpr size_t huge_trusted_bytes = 32 * mib;  // at first
inline constexpr size_t dense_free_part = 4;
inline constexpr size_t middling_free_part = 2;
inline constexpr size_t fast_growth_bytes = mib;  // within less than
inline constexpr uint64_t fast_growth_ns = 2 * 1000 * 1000;
// Below this much address space all arenas ask for small pages: a huge page would be much of it.
inline constexpr size_t small_process_bytes_max = 32 * mib;

// Free ranges with pages that are looked at for one that makes room with an untouched neighbour.
inline constexpr size_t pair_looks = 16;

// A helper starts when this much free memory has pages (in one heap: its share of this), and ends
// when less than a quarter of this is left.
inline constexpr size_t purge_request_bytes_min = 2 * mib;
// A process of one thread gives such memory back by its own calls as long as this is not much at
// once and in all, few calls did it, and little of it was touched again
// (reclaim/early_release.hpp).
inline constexpr size_t early_free_bytes_max = 16 * mib;
inline constexpr size_t early_bytes_max = 32 * mib;
inline constexpr size_t early_tries_max = 32;
inline constexpr size_t early_reused_bytes_max = mib / 2;
// So many threads more make a helper look after what they hold.
inline constexpr size_t caches_requested = 8;
// A slab has rested when no block was taken from it during so many passes of the helper. Blocks may
// have come home: slabs that blocks only come home to are those that need no pages.
inline constexpr uint16_t rested_passes = 2;
// The helper's passes: the shortest time between two; how many without a gain make it end when
// little is left, or look less often; and what is not worth a look.
inline constexpr uint64_t decay_ms_min = 10;
inline constexpr size_t passes_before_end = 4;
inline constexpr size_t passes_before_calm = 16;
inline constexpr size_t surplus_bytes_min = 64 * kib;
// After a failed allocation everything free is released, but not more often than this; and a
// handler that always says "again" is believed so many times.
inline constexpr uint64_t find_memory_pause_ms = 100;
inline constexpr unsigned find_memory_attempts = 1000;
// The most that forced purging gives to the kernel in one call. While that lasts, another thread's
// malloc_trim does not find these bytes and returns before they are gone.
inline constexpr size_t urgent_piece_bytes = 4 * mib;
// ... unless the calls before were that quick: then twice as much, and so on up to this.
inline constexpr uint64_t light_purge_ns = 100'000;
inline constexpr size_t light_piece_bytes_max = 64 * mib;
// What slabs keep is given back under pressure at once, by who allocates or frees in pieces that
// take a fraction of a millisecond. Where that finds little, it is tried again after this long.
inline constexpr size_t reclaim_bytes_max = 512 * kib;
inline constexpr uint64_t reclaim_pause_ms = 20;
// Giving back is refaulted where blocks were taken from this part of what went within a moment, if
// that was much; more may be kept for a while then (space/refault.hpp).
inline constexpr uint64_t refault_moment_ms = 100;
inline constexpr size_t refault_part = 2;
inline constexpr size_t refault_bytes_min = 4 * mib;
inline constexpr uint64_t refault_ms = 1000;
// A heap tells address space when what it has free and resident changed by this much.
inline constexpr size_t free_told_bytes = 256 * kib;
// Slabs that a pass looks at, at most, while it holds the heap's lock.
inline constexpr size_t slab_decay_looks = 1024;
// Thread caches that a pass visits at most.
inline constexpr size_t caches_visited_max = 100000;
// A heap that lasting leaves this part of its slabs free is sparse, if that is much, and large
// pages are given up.
inline constexpr size_t sparse_free_part = 8;
// How long an owner that is asked for its idle probe is waited for, at least. Stores leave a
// processor within microseconds (cache/idle_caches.hpp).
inline constexpr uint64_t idle_probe_wait_us = 2000;

// Blocks that a batch takes from slabs, or gives to them, while it holds the heap's lock: a few
// microseconds.
inline constexpr size_t batch_blocks_max = 256;

// Metadata is taken from the kernel in chunks of this much.
inline constexpr size_t meta_chunk_bytes = 256 * kib;
// ... or, once that is more, of 1/32 of the arenas.
inline constexpr unsigned meta_chunk_shift = 5;

// Blocks at least this large are moved by the kernel (mremap) instead of copied.
inline constexpr size_t remap_bytes_min = 256 * kib;
// A block that realloc had to move gets 1/4 more room: addresses only, no memory.
inline constexpr unsigned headroom_shift = 2;
// realloc that gives up at least this much at once gives it to the kernel.
inline constexpr size_t shrink_purge_bytes_min = 256 * kib;
// calloc of a touched span this large drops its pages instead of clearing them.
inline constexpr size_t calloc_purge_bytes_min = 32 * mib;

// Freed large blocks that a thread keeps for itself: slices of the largest, and bytes of all,
// with the medium blocks in its lists.
inline constexpr size_t large_kept_slices = 8;
inline constexpr size_t large_kept_factor = 96;  // a block of each medium class is 1.4 MiB
inline constexpr size_t large_kept_bytes_max = large_kept_factor * list_bytes_max;
// A thread takes so many medium blocks from the list of the next class before the class gets one of
// its own.
inline constexpr uint32_t borrowed_count_most = 64;
// Bytes by which a thread lets the count of live large blocks be wrong before it corrects it.
inline constexpr size_t large_unsettled_bytes_max = 4 * mib;

// Memory that lies in a file gets its room on the disk in steps of an eighth of what it has, within
// these bounds, so that growing is a call now and then.
inline constexpr size_t file_step_bytes_min = 1 * mib;
inline constexpr size_t file_step_bytes_max = 64 * mib;
inline constexpr unsigned file_step_shift = 3;
// A file's contents are copied in pieces of this much where that needs memory for a moment.
inline constexpr size_t file_copy_bytes = 1 * mib;

static_assert(slice_bytes % small_bytes_max == 0 && medium_bytes_max % slice_bytes == 0,
              "slabs lie at multiples of a slice: classes for all alignments up to that");
static_assert(linear_bytes_max == block_alignment << class_spacing_shift,
              "spacing grows smoothly where the linear classes end");
static_assert(arena_alignment % slice_bytes == 0, "arenas consist of whole slices");

}  // namespace talus

#endif  // TALUS_BASE_CONFIG_HPP
