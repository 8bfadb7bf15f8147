// SPDX-License-Identifier: MIT
// heap/context: what malloc and free touch of a thread: one list of free blocks for each class.
//
//   ThreadContext  | tops of lists | limits of lists | id | operations | class of each size |
//
// this_context is never null. It starts at first_context, whose lists are empty and whose id is in
// no page-map entry. So "not initialised" needs no test of its own: malloc finds an empty list, and
// free finds another owner. The contexts of ended threads (ended_context) and of modes work
// the same way: they are contexts with operations.
// Owns: the layout of contexts. Invariant: only one thread writes a context's lists.
// Must not know: how threads begin and end (process/ defines cache_of_new_thread).
#ifndef TALUS_HEAP_CONTEXT_HPP
#define TALUS_HEAP_CONTEXT_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"

namespace talus::core {

struct ThreadCache;
struct ThreadContext;

// The free blocks of one class that a thread holds: an array of pointers, last in first out. Two
// nulls lie below the first block. So the pop itself finds that the list is empty, and free()
// compares a block with the two uppermost ones without knowing the length. One store to top commits
// a push or a pop; a fork may find the list at any moment. Tops lie together and limits lie
// together: a class is an index, and malloc reads no limit.
struct ThreadList {
  Atomic<void**>& top;  // the owner writes; the child of a fork and statistics read
  void**& limit;        // where top is when the list is full; owner only
};

// A block of `bytes` bytes whose address plus `offset` is a multiple of `alignment`. The alignment
// is a power of two and at least block_alignment. The offset is smaller, a multiple of
// block_alignment.
struct BlockRequest {
  size_t bytes = 0;
  size_t alignment = block_alignment;
  size_t offset = 0;
  Zeroed zeroed = Zeroed::no;  // must it read as zero?
};

struct ModeChain;

// What a context does beyond a plain heap. Only slow paths look at it.
struct ContextOperations {
  // The cache to work on; null: the thread has none and works on slabs directly.
  ThreadCache* (*cache_of)(ThreadContext& context) noexcept;
  // The context is a ModeContext (heap/modes.hpp) of these modes. Null: it has no modes.
  const ModeChain* modes = nullptr;
  // The context stands in for the thread's own, and cache_of() puts that one back.
  bool is_probe = false;
  // The lists of the context have two sides; it is a SidedContext (heap/sides.hpp).
  bool has_sides = false;
};

// Classes whose lists the fast paths use. The lists of larger blocks are closed in every context.
constexpr size_t count_fast_classes() noexcept {
  size_t count = 0;
  while (count < fixed_class_count && size_class_table.rows[count].block_bytes <= fast_bytes_max)
    count++;
  return count;
}
inline constexpr size_t fast_class_count = count_fast_classes();

// Classes where the address alone gives the offset in the slab, and so tells whether a block starts
// there.
inline constexpr size_t factored_class_count = index_of(class_of(self_aligned_bytes_max)) + 1;
// Blocks of the other fixed classes start at multiples of this.
constexpr size_t step_of_other_classes() noexcept {
  size_t all = slice_bytes;
  for (size_t index = factored_class_count; index < fixed_class_count; index++) {
    all |= size_class_table.rows[index].block_bytes;
  }
  return all & (~all + 1);
}
inline constexpr size_t start_step_bytes = step_of_other_classes();

// The states of a context's owner (cache/idle_caches.hpp). `none`: the context is no cache, so no
// thread works by it. This is no enum class, because clang's atomics need a number.
struct OwnerState {
  static constexpr uint32_t active = 0, asked = 1, idle = 2, none = 3;
};

struct alignas(cache_line_bytes) ThreadContext {
  // Owner only; first, so that malloc adds no offset. Behind the classes: allocation sides, if the
  // context has two sides.
  Atomic<void**> tops[class_count + fast_class_count];
  void** limits[class_count] = {};                // owner only
  HeapId id = owns_nothing;                       // free pushes blocks of this heap on the lists
  Atomic<uint32_t> shared_busy;                   // the owner writes: its depth in slow paths
  const ContextOperations* operations = nullptr;  // constant; null: a ThreadCache
  Atomic<uint32_t> shared_state;                  // a cache's: written under the idle probe's lock
  // The list that a request of n bytes pops from: [(n + 15) / 16]. All zero where lists are closed.
  uint8_t class_of_units[fast_bytes_max / block_alignment + 1] = {};
  // These tell the start of a block from other addresses in its slab; see is_start_by().
  uint32_t start_factors[factored_class_count] = {};
  uint32_t offset_masks[factored_class_count] = {};  // of addresses: the bytes of a slab less 1

  static constexpr HeapId owns_nothing = HeapId{0xffff};  // never in a page-map entry
};

// The page map's tag of a slab is its class.
constexpr uint16_t list_tag(ClassId id) noexcept { return static_cast<uint16_t>(index_of(id)); }
constexpr ClassId class_of_tag(uint16_t tag) noexcept {
  TALUS_ASSERT(tag < class_count);
  return ClassId{static_cast<uint8_t>(tag)};
}

// 2^32 / block_bytes, rounded up. The offset of a block's start times this, modulo 2^32, is small:
// only the rounding errors of the blocks before it remain. Elsewhere it is at least the factor.
constexpr uint32_t start_factor_of(size_t block_bytes) noexcept {
  return static_cast<uint32_t>(divide_up(uint64_t{1} << 32, block_bytes));
}
inline constexpr uint32_t start_bound = 2 * slice_bytes;
TALUS_FAST constexpr bool is_start_by(uint32_t start_factor, uint32_t offset) noexcept {
  return offset * start_factor < start_bound;
}
constexpr bool factors_are_exact() noexcept {
  for (size_t index = 0; index < factored_class_count; index++) {
    const SizeClass& row = size_class_table.rows[index];
    const uint64_t factor = start_factor_of(row.block_bytes);
    const uint64_t error = factor * row.block_bytes - (uint64_t{1} << 32);
    if (!is_power_of_two(row.slab_slices) || factor < start_bound) return false;
    if (index < fast_class_count && row.slab_slices != 1) return false;  // free has no mask
    if (error * row.block_count >= start_bound) return false;
  }
  return true;
}
static_assert(factors_are_exact(), "an address alone tells if a block starts there");

// Can a block start at this address, which lies in a slab of the class? The answer is certain for
// blocks up to 16 KiB. For larger ones the test only compares with a step that all of them share: a
// look at the slab would fetch a line that free does not touch otherwise. What this misses is found
// when the block leaves its list. The answer is false for fitted classes; see free_fitted().
TALUS_FAST bool is_start_at_hand(const ThreadContext& context, const void* pointer,
                                 size_t index) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (TALUS_LIKELY(index < factored_class_count)) {
    const uint32_t offset = static_cast<uint32_t>(address) & context.offset_masks[index];
    return is_start_by(context.start_factors[index], offset);
  }
  return address % start_step_bytes == 0 && index < fixed_class_count;
}

// For a context whose lists hold blocks: which list serves a size, and where blocks start.
inline void learn_classes(ThreadContext& context) noexcept {
  for (size_t index = 0; index < factored_class_count; index++) {
    const SizeClass& row = size_class_table.rows[index];
    context.start_factors[index] = start_factor_of(row.block_bytes);
    context.offset_masks[index] = static_cast<uint32_t>(row.slab_slices * slice_bytes - 1);
  }
  for (size_t units = 0; units <= fast_bytes_max / block_alignment; units++) {
    context.class_of_units[units] = size_class_table.class_of_units[units];
  }
}

// A list that is both empty and full, for contexts that must always enter the slow paths.
TALUS_CONSTINIT inline void* no_blocks[3] = {};

inline void close_list(ThreadContext& context, size_t index) noexcept {
  TALUS_ASSERT(index < class_count);
  context.tops[index].store_init(&no_blocks[2]);
  context.limits[index] = &no_blocks[2];
}
// Makes a context that leads only to slow paths, with these operations.
inline void close_context(ThreadContext& context, const ContextOperations& operations) noexcept {
  context.id = ThreadContext::owns_nothing;
  context.operations = &operations;
  context.shared_state.store_init(OwnerState::none);
  for (size_t index = 0; index < class_count; index++) close_list(context, index);
}

// Defined in process/: a cache for the calling thread; null: no memory.
TALUS_HOOK ThreadCache* cache_of_new_thread(ThreadContext& context) noexcept;
inline ThreadCache* no_cache(ThreadContext&) noexcept { return nullptr; }

inline constexpr ContextOperations birth_operations = {cache_of_new_thread};
inline constexpr ContextOperations dead_operations = {no_cache};

template <size_t... Is>
struct Indices {};
template <size_t N, size_t... Is>
struct MakeIndices : MakeIndices<N - 1, N - 1, Is...> {};
template <size_t... Is>
struct MakeIndices<0, Is...> {
  using Type = Indices<Is...>;
};
template <size_t... Is>
constexpr ThreadContext make_slow_context(const ContextOperations* does, Indices<Is...>) noexcept {
  return ThreadContext{
      {((void)Is, Atomic<void**>{&no_blocks[2]})...},
      {},  // read only if a page-map entry holds the context's id; these would need writes at start
      ThreadContext::owns_nothing,
      {},
      does,
      Atomic<uint32_t>{OwnerState::none},
      {},
      {}};
}

// The contexts of threads that have not allocated yet, and of threads that have ended.
TALUS_CONSTINIT inline ThreadContext first_context =
    make_slow_context(&birth_operations, MakeIndices<class_count>::Type{});
TALUS_CONSTINIT inline ThreadContext ended_context =
    make_slow_context(&dead_operations, MakeIndices<class_count>::Type{});

// Atomic, because the background thread may replace the context of an idle thread
// (cache/idle_caches.hpp).
TALUS_CONSTINIT inline TALUS_THREAD_LOCAL Atomic<ThreadContext*> this_context{&first_context};

TALUS_FAST ThreadContext& current_context() noexcept { return *this_context.load_own(); }
inline void set_context(ThreadContext& context) noexcept { this_context.store_own(&context); }
static_assert(offsetof(ThreadContext, tops) == 0, "malloc adds no offset");
static_assert(index_of(ThreadContext::owns_nothing) > instance_id_max, "no heap has this id");
static_assert(fast_class_count < small_class_count, "fast lists hold small blocks");

}  // namespace talus::core

#endif  // TALUS_HEAP_CONTEXT_HPP
