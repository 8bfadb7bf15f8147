// SPDX-License-Identifier: MIT
// base/config: every constant that may need tuning, with unit and reason.
//
// Owns: the root constants; all others are derived from them where they are needed. Invariant: the
// static_asserts at the end, which state how the roots depend on each other. Must not know: types
// of other floors.
#ifndef TALUS_BASE_CONFIG_HPP
#define TALUS_BASE_CONFIG_HPP

#include <cstddef>
#include <cstdint>

namespace talus::core {

inline constexpr size_t kib = size_t{1} << 10;
inline constexpr size_t mib = size_t{1} << 20;

// Alignment of every block: what max_align_t requires on all supported CPUs.
inline constexpr size_t block_alignment = 16;

// Size of the destructive-interference unit. Processors fetch two lines together, but a store takes
// only 64 bytes away from another core.
inline constexpr size_t cache_line_bytes = 64;

// Unit of address space: page-map entries, slabs and large blocks count in slices. 64 KiB is the
// largest page size of the supported CPUs, so one library serves all of them.
inline constexpr unsigned slice_shift = 16;
inline constexpr size_t slice_bytes = size_t{1} << slice_shift;
// No kernel has smaller pages.
inline constexpr size_t page_bytes_min = 4 * kib;

// User-space addresses that the page map covers. Higher addresses are refused, not mis-indexed.
inline constexpr unsigned address_bits = 48;

// Largest small block. A slab has many of these, and an instance has slabs up to this size.
inline constexpr size_t small_bytes_max = 32 * kib;
// Largest medium block, the largest that lives in a slab of a thread's heap, few to a slab. A
// larger block is a span of its own.
inline constexpr size_t medium_bytes_max = 256 * kib;

// Size classes: linear up to here, then 2^spacing_shift classes to each doubling.
inline constexpr size_t linear_bytes_max = 128;
inline constexpr unsigned class_spacing_shift = 3;
// The same for classes above small_bytes_max: fewer, so that a thread's free blocks serve most
// sizes.
inline constexpr unsigned medium_spacing_shift = 2;

// Classes made while the program runs, each for one size that it asks for often: how many small
// ones, how many larger ones, and the largest block (classes/fitted.hpp).
inline constexpr size_t fitted_bytes_max = mib;
inline constexpr size_t fitted_small_classes = 4;
inline constexpr size_t fitted_medium_classes = 12;
// Their slabs have at most this many slices, and fewer where that wastes at most this part more.
// Instead of more slices than usual, a larger part may be wasted. They have at most this many
// blocks, so that one word tells which are free.
inline constexpr size_t fitted_slices_max = 64;
inline constexpr size_t fitted_rest_part = 64;
inline constexpr size_t fitted_slices_usual = 16;
inline constexpr size_t fitted_long_rest_part = 24;
inline constexpr size_t fitted_blocks_max = 64;
// From this size to medium_bytes_max a class may be made only to spread blocks over the sets of
// processor caches. For other sizes it must save this part of a block.
inline constexpr size_t fitted_spread_bytes_min = 16 * kib;
inline constexpr size_t fitted_saved_part = 24;
// A thread asks this many times in a row for the size, among sizes of the same fixed class, before
// the class is made. Small sizes are fewer, so chance has to be kept out by a longer row.
inline constexpr uint32_t fitted_row_small = 32;
inline constexpr uint32_t fitted_row = 6;
// Under a hard limit, a slab of such a class takes at most this part of it.
inline constexpr size_t fitted_limit_part = 64;

// A slab has at least this many small blocks, so that one refill seldom needs two slabs.
inline constexpr size_t slab_blocks_min = 4;
// A slab of blocks above fast_bytes_max is as short as possible with at most this part of it behind
// the last block. Free memory in it serves only its class.
inline constexpr size_t slab_rest_part = 16;

// Where slabs of a class end and begin in turn, the classes of a heap may keep this part of
// retain_bytes in empty slabs.
inline constexpr size_t empty_slabs_part = 4;
// Slabs ended as a batch if they are at least this many, and more by a part of those that are left.
inline constexpr size_t batch_slabs_min = 3, batch_slabs_part = 4;
// How many nearly empty slabs of a class are searched for an empty one.
inline constexpr size_t empty_slab_looks = 8;

// How many heaps without threads are searched for a slab of a class before a new slab is made.
inline constexpr uint32_t donor_looks = 16;

// Bytes of blocks that one thread list may hold, and its largest and least number of blocks. 16 KiB
// of small blocks make batches long enough to hide the lock of a refill. Slow lists (below) may
// hold more, because an idle thread keeps nothing in them.
// An option may set other bounds, up to list_bytes_most. Slow lists have slow_list_factor times as
// much, and kept large blocks large_kept_factor times.
inline constexpr size_t list_bytes_max = 16 * kib;
inline constexpr size_t list_bytes_most = 64 * kib;
inline constexpr size_t slow_list_factor = 4;
// A list that runs empty and full in turn may hold this many times as much, also in blocks. All
// such lists of a thread together may hold wide_total_factor times the bytes of one.
inline constexpr size_t wide_list_factor = 4;
inline constexpr size_t wide_total_factor = 128;
inline constexpr size_t list_blocks_max = 1024;
inline constexpr size_t list_blocks_min = 4;
// Blocks up to this size are handed out by the fast paths. The lists of an idle thread can be
// emptied except for the uppermost block of each (cache/idle_caches.hpp). So lists of larger blocks
// are slow lists: only the slow paths use them, which costs some dozens of instructions beside a
// block of that size.
inline constexpr size_t fast_bytes_max = 4 * kib;
// Enough blocks to hide the way to the slabs. A list that repeatedly runs empty, or full, moves
// this many at a time if it has room for them.
inline constexpr size_t list_batch_blocks = 32;
// A list has no room until its thread allocates of the class. It starts with a capacity of at most
// these blocks and bytes, but one block at least. It doubles each time it runs empty, or runs over
// while it has less than this part of the bound of its class.
inline constexpr size_t list_blocks_start = 8;
inline constexpr size_t list_bytes_start = 1 * kib;
inline constexpr size_t list_over_part = 4;

// Remote frees: for how many owners a thread collects at a time, and the bytes of blocks after
// which it delivers each batch. Where two owners share a batch, each free would deliver a message
// of few blocks. So by default there are no more heaps than batches.
inline constexpr size_t remote_owners = 64;
inline constexpr size_t remote_batch_bytes_max = 32 * kib;
// The two newest blocks of a delivery stay with the thread, so that a second free of one is
// detected. Larger blocks than this do not stay.
inline constexpr size_t newest_kept_bytes_max = 8 * kib;
// The bytes of a return batch: blocks of the thread's own heap whose class the thread does not
// allocate. The thread returns these itself, and waits for no other processor.
inline constexpr size_t return_batch_bytes_max = 16 * kib;
// The freeing thread prefetches the first line of small blocks of other heaps for write
// (store/remote.hpp). Larger blocks may lie in untouched pages.
inline constexpr size_t prefetched_bytes_max = 1 * kib;
// The freeing thread may keep blocks of other heaps from this size on. They share no cache line
// with other blocks, so their next user here slows no other thread down.
inline constexpr size_t foreign_bytes_min = 512;
// Blocks that come home fill a list up to this part of the bound of its class.
inline constexpr size_t list_remote_part = 8;
// Delivered blocks wait up to this many bytes while their heap has other blocks to hand out.
inline constexpr size_t remote_wait_bytes = 128 * kib;
// Unused messages that move between a heap and the pool at a time.
inline constexpr uint32_t messages_moved = 8;
// Bytes of undelivered remote frees above which the deliverer does the owner's work.
inline constexpr size_t remote_backlog_bytes_max = 256 * kib;
// Above this the deliverer waits for the heap's lock to do so. When the kernel preempts the holder,
// others would pile up blocks, and messages, which are never freed.
inline constexpr size_t remote_backlog_bytes_most = 2 * mib;

// Ids of heaps for threads end below this. Ids of instances begin here, and end with the last one
// that fits a page-map entry and is no context's.
inline constexpr size_t heap_count_max = size_t{1} << 10;
inline constexpr size_t instance_id_max = 0xfffe;
// The most blocks that an instance has ready for each class, and their bytes.
inline constexpr size_t ready_blocks_max = 15;
inline constexpr size_t ready_bytes_max = 16 * kib;

// Address space is reserved from the kernel in arenas of at least this size (a huge page), aligned
// to it. An arena is as large as 1/4 of what is already reserved, so that the number of arenas
// stays logarithmic and little is reserved in vain.
inline constexpr size_t arena_alignment = 2 * mib;
inline constexpr unsigned arena_growth_shift = 2;
inline constexpr size_t arena_growth_max = size_t{1} << 30;
// An arena that would hold fewer ranges like its first is made longer, by at most this, until at
// most this part is left behind the last one.
inline constexpr size_t arena_few_ranges = 16;
inline constexpr size_t arena_longer_max = 16 * mib;
inline constexpr size_t arena_rest_part = 16;

// From these bytes with users on, untouched addresses ask for huge pages: one page fault then does
// the work of 512.
//   proven  large blocks, if the program filled the last ones (space/fill_probe.hpp), as long as no
//           more is taken on trust
//   fast    slabs that grow fast (space/growth_pace.hpp), in a heap that is full but for 1/2
//   dense   slabs of a heap that is full but for 1/4
//   sparse  all slabs
inline constexpr size_t huge_proven_bytes_min = 4 * mib;
inline constexpr size_t huge_fast_bytes_min = 8 * mib;
inline constexpr size_t huge_dense_bytes_min = 32 * mib;
inline constexpr size_t huge_sparse_bytes_min = 96 * mib;
inline constexpr size_t huge_trusted_bytes = 32 * mib;  // at first
inline constexpr size_t dense_free_part = 4;
inline constexpr size_t middling_free_part = 2;
inline constexpr size_t fast_growth_bytes = mib;  // within less than the next
inline constexpr uint64_t fast_growth_ns = 2 * 1000 * 1000;
// Below this much address space all arenas ask for small pages: a huge page would be much of it.
inline constexpr size_t small_process_bytes_max = 32 * mib;

// From this size on, a range that takes untouched memory has as much purged elsewhere, where more
// is free than in use.
inline constexpr size_t exchange_bytes_min = mib;

// How many dirty ranges are searched for one that makes room together with an untouched neighbour.
inline constexpr size_t pair_looks = 16;

// The background thread starts when this much free memory has pages (in one heap: its share of
// this). It ends when less than a quarter of this is left.
inline constexpr size_t purge_request_bytes_min = 2 * mib;
// A process of one thread purges such memory by its own calls (reclaim/early_purge.hpp). These
// are the bounds: bytes at once, bytes in all, number of calls, and bytes that were touched again.
inline constexpr size_t early_free_bytes_max = 16 * mib;
inline constexpr size_t early_bytes_max = 32 * mib;
inline constexpr size_t early_tries_max = 32;
inline constexpr size_t early_reused_bytes_max = mib / 2;
// This many more threads start the background thread, which looks after what they hold.
inline constexpr size_t caches_requested = 8;
// A slab has rested when no block was taken from it during this many decay passes. Blocks may have
// come home: slabs to which blocks only come home need no pages.
inline constexpr uint16_t rested_passes = 2;
// Decay passes. The shortest time between two. The number of passes without a gain after which the
// background thread ends, if little is left. The number after which it looks less often. The least
// surplus or excess that is purged.
inline constexpr uint64_t decay_ms_min = 10;
inline constexpr size_t passes_before_end = 4;
inline constexpr size_t passes_before_calm = 16;
inline constexpr size_t surplus_bytes_min = 64 * kib;
// After a failed allocation all free memory is purged, but not more often than this. A handler that
// always answers "again" is believed this many times.
inline constexpr uint64_t find_memory_pause_ms = 100;
inline constexpr unsigned find_memory_attempts = 1000;
// The most that forced purging purges in one call. During the call, another thread's malloc_trim
// does not find these bytes and returns before they are purged.
inline constexpr size_t urgent_piece_bytes = 4 * mib;
// If the calls before took less than this, the next takes twice as much, up to
// light_piece_bytes_max.
inline constexpr uint64_t light_purge_ns = 100'000;
inline constexpr size_t light_piece_bytes_max = 64 * mib;
// Excess memory in slabs is purged at once, by the allocating or freeing thread, in pieces that
// take a fraction of a millisecond. After a futile reclaim the next one waits this long.
inline constexpr size_t reclaim_bytes_max = 512 * kib;
inline constexpr uint64_t reclaim_pause_ms = 20;
// Memory is refaulted when blocks were taken from this part of the purged bytes within a moment, if
// those were many. More may then be kept for a while (retention/refault.hpp).
inline constexpr uint64_t refault_moment_ms = 100;
inline constexpr size_t refault_part = 2;
inline constexpr size_t refault_bytes_min = 4 * mib;
inline constexpr uint64_t refault_ms = 1000;
// Memory that the program needs again and again may stay between two such bursts
// (retention/bursts.hpp). The least footprint of a burst, how many make a pattern, and the shortest
// and longest interval between two. How many must fail to come before the memory goes.
// Nothing stays where options ask that little is kept, or not for long.
inline constexpr size_t burst_bytes_min = 16 * mib;
inline constexpr uint64_t burst_decay_ms_min = 200;
inline constexpr unsigned burst_count_min = 3;
inline constexpr uint64_t burst_interval_ms_min = 700;
inline constexpr uint64_t burst_interval_ms_max = 15'000;
inline constexpr uint64_t burst_fall_ms_max = 3000;  // from its highest footprint to its end
inline constexpr uint64_t bursts_missed_max = 3;
// A heap reports its free resident memory to address space when it changed by this much.
inline constexpr size_t free_told_bytes = 256 * kib;
// Slabs that a pass looks at, at most, while it holds the heap's lock.
inline constexpr size_t slab_decay_looks = 1024;
// Thread caches that a pass visits at most.
inline constexpr size_t caches_visited_max = 100000;
// A heap is sparse when it lastingly leaves this part of its slabs free, and at least these bytes.
// A sparse process gives up its huge pages.
inline constexpr size_t sparse_free_part = 8;
inline constexpr size_t sparse_surplus_bytes_min = 8 * mib;
// How long, at least, a pass waits for an owner that is asked for its idle probe. Stores leave a
// processor within microseconds (cache/idle_caches.hpp).
inline constexpr uint64_t idle_probe_wait_us = 2000;

// Blocks that a batch moves from or to slabs while it holds the heap's lock: a few microseconds.
inline constexpr size_t batch_blocks_max = 256;

// Metadata is reserved from the kernel in chunks of this much,
inline constexpr size_t meta_chunk_bytes = 256 * kib;
// or of 1/32 of the arenas, where that is more.
inline constexpr unsigned meta_chunk_shift = 5;

// Blocks at least this large are moved by the kernel (mremap) instead of copied.
inline constexpr size_t remap_bytes_min = 256 * kib;
// A block that realloc had to move gets 1/4 more room: addresses only, no memory.
inline constexpr unsigned headroom_shift = 2;
// What lies behind a block's contents is purged where realloc returns or clears at least this much
// of it at once.
inline constexpr size_t behind_purge_bytes_min = 256 * kib;
// calloc of a touched span this large purges its pages instead of clearing them.
inline constexpr size_t calloc_purge_bytes_min = 32 * mib;

// Freed large blocks that a thread keeps: slices of the largest one, and bytes of all, including
// the medium blocks in its lists.
inline constexpr size_t large_kept_slices = 8;
inline constexpr size_t large_kept_factor = 96;  // a block of each medium class is 1.4 MiB
inline constexpr size_t large_kept_bytes_max = large_kept_factor * list_bytes_max;
// A thread takes this many medium blocks from the list of the next class before the class gets one
// of its own.
inline constexpr uint32_t borrowed_count_most = 64;
// The error of a thread's count of live large blocks, in bytes, above which the thread corrects it.
inline constexpr size_t large_unsettled_bytes_max = 4 * mib;

// A file gets its room on the disk in steps of an eighth of its size, within these bounds, so that
// growing seldom needs a call.
inline constexpr size_t file_step_bytes_min = 1 * mib;
inline constexpr size_t file_step_bytes_max = 64 * mib;
inline constexpr unsigned file_step_shift = 3;
// A file's contents are copied in pieces of this much, where the copy needs memory.
inline constexpr size_t file_copy_bytes = 1 * mib;

static_assert(slice_bytes % small_bytes_max == 0 && medium_bytes_max % slice_bytes == 0,
              "slabs lie at multiples of a slice: classes for all alignments up to that");
static_assert(linear_bytes_max == block_alignment << class_spacing_shift,
              "spacing grows smoothly where the linear classes end");
static_assert(arena_alignment % slice_bytes == 0, "arenas consist of whole slices");
static_assert(slice_bytes % page_bytes_min == 0 && page_bytes_min % cache_line_bytes == 0,
              "a slice is whole pages, a page is whole lines");
static_assert(cache_line_bytes % block_alignment == 0, "no smallest block lies in two lines");
static_assert(address_bits > slice_shift && address_bits < 64, "addresses have slices");
static_assert(fast_bytes_max <= small_bytes_max && small_bytes_max < medium_bytes_max,
              "the sizes of blocks are in this order");
static_assert(list_bytes_max <= list_bytes_most && list_blocks_min <= list_blocks_max,
              "the bounds of lists are in this order");
static_assert(list_blocks_max * wide_list_factor <= 0xffff, "a list's blocks fit in 16 bits");
static_assert(newest_kept_bytes_max * 2 <= remote_batch_bytes_max,
              "the two blocks that stay do not fill the next message");
static_assert(remote_wait_bytes <= remote_backlog_bytes_max &&
                  remote_backlog_bytes_max < remote_backlog_bytes_most,
              "blocks wait, then are drained by others, then make these wait");
static_assert(foreign_bytes_min % cache_line_bytes == 0, "foreign blocks share no line");
static_assert(heap_count_max < instance_id_max && instance_id_max < 0xffff,
              "ids of heaps, then of instances, then the id that owns nothing");
static_assert(ready_blocks_max * block_alignment <= ready_bytes_max, "small blocks are counted");
static_assert(huge_proven_bytes_min <= huge_fast_bytes_min &&
                  huge_fast_bytes_min <= huge_dense_bytes_min &&
                  huge_dense_bytes_min <= huge_sparse_bytes_min,
              "the surer that pages are filled, the sooner they are huge");
static_assert(surplus_bytes_min <= reclaim_bytes_max &&
                  reclaim_bytes_max <= purge_request_bytes_min,
              "the least that is purged, in one call, and before the background thread starts");
static_assert(urgent_piece_bytes % arena_alignment == 0 &&
                  urgent_piece_bytes <= light_piece_bytes_max,
              "pieces are whole huge pages");
static_assert(free_told_bytes <= purge_request_bytes_min,
              "an untold change is less than a request");
static_assert(meta_chunk_bytes % slice_bytes == 0, "a chunk may lie in an arena");
static_assert(file_step_bytes_min <= file_step_bytes_max && file_step_bytes_min % slice_bytes == 0,
              "a file grows by whole slices");

}  // namespace talus::core

#endif  // TALUS_BASE_CONFIG_HPP
