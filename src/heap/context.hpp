// SPDX-License-Identifier: MIT
// heap/context: what malloc and free touch: one list of free blocks a class, and whose they are.
//
//   ThreadContext  | tops of lists | limits of lists | id | operations | class of each size |
//
// this_context is never null. It starts at first_context, whose lists are empty and whose id no
// page-map entry holds: "not initialised" is thus the same test as "list empty" and "owner is
// another". The same holds for a thread that has died (ended_context) and for a mode: a context
// with operations.
// Owns: the layout of contexts. Invariant: a context's lists are written by one thread only.
// Must not know: how threads are born and die (process/ fills in cache_of_new_thread).
#ifndef TALUS_HEAP_CONTEXT_HPP
#define TALUS_HEAP_CONTEXT_HPP

#include "classes/size_class.hpp"

namespace talus {

struct ThreadCache;
struct ThreadContext;

// The free blocks of one class that a thread holds: an array of pointers, last in first out.
// Below the first block lie two nulls: the pop itself learns that the list is empty, and free()
// compares a block with the two uppermost ones without asking how many there are. A push and a pop
// commit with the one store to top; a fork may find the list at any moment.
// Tops lie together and limits lie together, so that a class is an index and malloc reads no limit.
struct ThreadList {
  Atomic<void**>& top;  // owner writes; the child of a fork and statistics read
  void**& limit;        // top of the list when it is full; owner only
};

// A block of `bytes` bytes whose address plus `offset` is a multiple of `alignment`, a power of two
// and at least block_alignment; the offset is below it and a multiple of block_alignment.
struct BlockRequest {
  size_t bytes = 0;
  size_t alignment = block_alignment;
  size_t offset = 0;
};

// Where the blocks are that a thread frees by its context: gone, or where they were.
enum class FreedBlocks : uint8_t { go, stay };

// What a context does that is no plain heap. Entered from slow paths only. What is done to a block
// that a mode made is the block's own affair (heap/special.hpp): any thread may free it.
struct ContextOperations {
  // The cache to work on; null: the thread has none and works on slabs directly.
  ThreadCache* (*cache_of)(ThreadContext& context) noexcept;
  // What happened, for modes that count; null for contexts that do not.
  void (*note_allocate)(ThreadContext& context, void* block, size_t bytes) noexcept;
  void (*note_free)(ThreadContext& context, void* block) noexcept;
  // A block of the mode's own kind; null: an ordinary one will do. Null for contexts that make
  // none.
  void* (*allocate)(ThreadContext& context, const BlockRequest& request) noexcept = nullptr;
  // A block of `usable` bytes became this one; for modes that count.
  void (*note_resize)(ThreadContext& context, size_t usable, void* block,
                      size_t bytes) noexcept = nullptr;
  FreedBlocks freed_blocks = FreedBlocks::go;
};

// Classes whose lists the fast paths use; those of larger blocks are closed in every context.
constexpr size_t count_fast_classes() noexcept {
  size_t count = 0;
  while (count < class_count && size_class_table.rows[count].block_bytes <= fast_bytes_max) count++;
  return count;
}
inline constexpr size_t fast_class_count = count_fast_classes();

// Classes whose slabs are one slice: an address gives the offset in its slab, and that tells
// whether a block starts there.
constexpr size_t count_factored_classes() noexcept {
  size_t count = 0;
  while (count < class_count && size_class_table.rows[count].slab_slices == 1) count++;
  return count;
}
inline constexpr size_t factored_class_count = count_factored_classes();
static_assert(factored_class_count >= fast_class_count, "the fast path looks at no slab");
// Blocks of the other classes start at multiples of this.
constexpr size_t step_of_other_classes() noexcept {
  size_t all = slice_bytes;
  for (size_t index = factored_class_count; index < class_count; index++) {
    all |= size_class_table.rows[index].block_bytes;
  }
  return all & (~all + 1);
}
inline constexpr size_t start_step_bytes = step_of_other_classes();

// Is the owner of a context there (cache/idle_caches.hpp)? Nobody works by a context that is no
// cache. No enum class: clang's atomics want a number.
struct OwnerState {
  static constexpr uint32_t active = 0, asked = 1, idle = 2, none = 3;
};

struct alignas(cache_line_bytes) ThreadContext {
  Atomic<void**> tops[class_count];               // owner only; first: no offset to add
  void** limits[class_count] = {};                // owner only
  HeapId id = owns_nothing;                       // whose blocks free pushes on the lists
  Atomic<uint32_t> shared_busy;                   // owner writes: how deep it is in slow paths
  const ContextOperations* operations = nullptr;  // constant; null: a ThreadCache
  Atomic<uint32_t> shared_state;                  // of a cache: written under the idle probe's lock
  // Which list a request of n bytes pops from: [(n + 15) / 16]. All zero where lists are closed.
  uint8_t class_of_units[fast_bytes_max / block_alignment + 1] = {};
  // What tells a block's start from another address in its slab; see is_start_by().
  uint32_t start_factors[factored_class_count] = {};

  static constexpr HeapId owns_nothing = HeapId{0xffff};  // never in a page-map entry
};

// The page map's tag of a slab: its class.
constexpr uint16_t list_tag(ClassId id) noexcept { return static_cast<uint16_t>(index_of(id)); }
constexpr ClassId class_of_tag(uint16_t tag) noexcept { return ClassId{static_cast<uint8_t>(tag)}; }

// 2^32 / block_bytes, rounded up. Product of an offset and this, modulo 2^32: at a block's start
// the rounding errors alone, below the offset; elsewhere at least the factor.
constexpr uint32_t start_factor_of(size_t block_bytes) noexcept {
  return static_cast<uint32_t>(divide_up(uint64_t{1} << 32, block_bytes));
}
TALUS_FAST constexpr bool is_start_by(uint32_t start_factor, uintptr_t address) noexcept {
  static_assert(start_factor_of(slice_bytes / 4) > 2 * slice_bytes, "the errors are smaller");
  return static_cast<uint32_t>(address % slice_bytes) * start_factor < slice_bytes;
}

// A context whose lists hold blocks must know which of them serves a size, and where blocks start.
inline void learn_classes(ThreadContext& context) noexcept {
  for (size_t index = 0; index < factored_class_count; index++) {
    context.start_factors[index] = start_factor_of(size_class_table.rows[index].block_bytes);
  }
  for (size_t units = 0; units <= fast_bytes_max / block_alignment; units++) {
    context.class_of_units[units] = size_class_table.class_of_units[units];
  }
}

// A list that is both empty and full, for contexts that must fall into the slow paths.
TALUS_CONSTINIT inline void* no_blocks[3] = {};

inline void close_list(ThreadContext& context, size_t index) noexcept {
  context.tops[index].store_relaxed(&no_blocks[2]);  // [init]
  context.limits[index] = &no_blocks[2];
}
// Makes a context that leads to slow paths only, and does this.
inline void close_context(ThreadContext& context, const ContextOperations& operations) noexcept {
  context.id = ThreadContext::owns_nothing;
  context.operations = &operations;
  context.shared_state.store_relaxed(OwnerState::none);  // [init]
  for (size_t index = 0; index < class_count; index++) close_list(context, index);
}

// Defined in process/: a cache for the calling thread; null: there is no memory for one.
TALUS_HOOK ThreadCache* cache_of_new_thread(ThreadContext& context) noexcept;
inline ThreadCache* no_cache(ThreadContext&) noexcept { return nullptr; }

inline constexpr ContextOperations birth_operations = {cache_of_new_thread, nullptr, nullptr};
inline constexpr ContextOperations dead_operations = {no_cache, nullptr, nullptr};

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
      {},  // read of a context whose id a page-map entry holds; these would be written at start
      ThreadContext::owns_nothing,
      {},
      does,
      Atomic<uint32_t>{OwnerState::none},
      {},
      {}};
}

// The context of threads that have not allocated yet, and of threads that have ended.
TALUS_CONSTINIT inline ThreadContext first_context =
    make_slow_context(&birth_operations, MakeIndices<class_count>::Type{});
TALUS_CONSTINIT inline ThreadContext ended_context =
    make_slow_context(&dead_operations, MakeIndices<class_count>::Type{});

// Set by a mode that counts all calls; read on slow paths.
inline Atomic<bool> shared_counts_calls;

// Atomic because the helper may put another context in the place of one whose thread rests
// (cache/idle_caches.hpp).
inline TALUS_THREAD_LOCAL Atomic<ThreadContext*> this_context{&first_context};

TALUS_FAST ThreadContext& current_context() noexcept {
  return *this_context.load_relaxed();
}  // [own]
inline void set_context(ThreadContext& context) noexcept {
  this_context.store_relaxed(&context);
}  // [own]

}  // namespace talus

#endif  // TALUS_HEAP_CONTEXT_HPP
