// SPDX-License-Identifier: MIT
// api/bounded: the talus_bounded_* functions.
//
// bounded_malloc(handle, bytes)       here     table, load, pop
//   -> bounded_malloc_slow            here     empty list, no pool, dead
//        -> take_bounded              bounded  batch from the pool, larger pools
//        -> route                     here     the fallback
// bounded_free(handle, pointer)       here     address, compare, push
//   -> bounded_free_full              bounded  half of the list goes to the pool
//   -> bounded_free_other             here     null, dead, the fallback's
//
// Owns: errno and argument checks of these functions, and when they call the fallback. Invariants:
// no lock is held during a call of the fallback. A fallback of the program may change errno. Calls
// that free or succeed restore it. Called on: any thread; a cache's functions on its own thread.
#ifndef TALUS_API_BOUNDED_HPP
#define TALUS_API_BOUNDED_HPP

#include "talus/bounded.h"
#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/bytes.hpp"
#include "os/report.hpp"
#include "pools/pool.hpp"
#include "bounded/numbers.hpp"
#include "bounded/bounded.hpp"
#include "bounded/life.hpp"
#include "bounded/lists.hpp"
#include "bounded/refill.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "paths/alloc.hpp"
#include "paths/free.hpp"
#include "paths/resize.hpp"
#include "api/extended.hpp"
#include "api/entry.hpp"

namespace talus::core::api {

// ---- the default fallback: the heap of talus_malloc

inline void* heap_for_bounded_alloc(void*, size_t bytes, size_t alignment) noexcept {
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2) return nullptr;
  return alignment <= block_alignment ? allocate(bytes) : allocate_aligned(alignment, bytes);
}
inline void heap_for_bounded_free(void*, void* pointer) noexcept { free_block(pointer); }
inline void* heap_for_bounded_realloc(void*, void* pointer, size_t bytes,
                                      size_t alignment) noexcept {
  return alignment <= block_alignment ? reallocate(pointer, bytes)
                                      : api::aligned_realloc(pointer, alignment, bytes);
}
inline size_t heap_for_bounded_usable_size(void*, const void* pointer) noexcept {
  return usable_size_asked(const_cast<void*>(pointer));
}
inline constexpr talus_bounded_fallback heap_for_bounded = {
    heap_for_bounded_alloc, heap_for_bounded_free, heap_for_bounded_realloc,
    heap_for_bounded_usable_size, nullptr};

class [[nodiscard]] ErrnoKept {
 public:
  ErrnoKept() noexcept : before_{errno} {}
  ~ErrnoKept() { errno = before_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int before_;
};

// ---- handles are the addresses of descriptors, which live for ever

TALUS_FAST Bounded& bounded_in(talus_bounded* handle) noexcept {
  return *reinterpret_cast<Bounded*>(handle);
}
TALUS_FAST talus_bounded* bounded_for(Bounded* instance) noexcept {
  return reinterpret_cast<talus_bounded*>(instance);
}
TALUS_FAST BoundedCache& cache_in(talus_bounded_cache* handle) noexcept {
  return *reinterpret_cast<BoundedCache*>(handle);
}
inline void check_alive(const Bounded& instance, const char* call) noexcept {
  if (TALUS_LIKELY(instance.is_alive())) return;
  report::dead_heap(reinterpret_cast<uintptr_t>(&instance), call);
}
inline void check_alive(const BoundedCache& cache, const char* call) noexcept {
  if (TALUS_LIKELY(cache.instance != nullptr)) return;
  report::dead_heap(reinterpret_cast<uintptr_t>(&cache), call);
}

// ---- allocate and free

struct BoundedRequest {
  size_t bytes;
  size_t alignment;
};

// The class whose pool should serve the request; small_class_count: none, whatever pools exist.
inline size_t class_requested(const BoundedRequest& request) noexcept {
  if (request.bytes > small_bytes_max || request.alignment > TALUS_BOUNDED_ALIGNMENT_MAX) {
    return small_class_count;
  }
  return index_of(class_of_aligned(request.bytes, request.alignment));
}

// A block of a pool; null: no pool has one.
inline void* take_of_pools(Bounded& instance, const BoundedRequest& request) noexcept {
  const size_t requested = class_requested(request);
  return requested < instance.pool_count ? take_bounded(instance, requested, request.alignment)
                                         : nullptr;
}

// A block of the fallback; null: it has none. errno is unchanged.
inline void* route(Bounded& instance, const BoundedRequest& request) noexcept {
  const ErrnoKept kept;
  count_bounded(instance, bounded_cache_of(instance), BoundedEvent::routed,
                class_requested(request));
  const talus_bounded_fallback& fallback = instance.fallback;
  return fallback.alloc(fallback.context, request.bytes, request.alignment);
}

inline void* bounded_allocate(Bounded& instance, const BoundedRequest& request) noexcept {
  void* block = take_of_pools(instance, request);
  return or_enomem(block != nullptr ? block : route(instance, request));
}

TALUS_SLOW void* bounded_malloc_slow(Bounded& instance, size_t bytes) noexcept {
  check_alive(instance, "talus_bounded_malloc");
  return bounded_allocate(instance, {bytes, block_alignment});
}
TALUS_FAST void* bounded_malloc(talus_bounded* handle, size_t bytes) noexcept {
  Bounded& instance = bounded_in(handle);
  if (TALUS_UNLIKELY(bytes > small_bytes_max)) return bounded_malloc_slow(instance, bytes);
  BoundedCache& cache = bounded_cache_of(instance);
  void* block = pop_bounded(bounded_list(cache, index_of(small_class_of(bytes))), true);
  return TALUS_LIKELY(block != nullptr) ? block : bounded_malloc_slow(instance, bytes);
}

TALUS_SLOW void* bounded_cache_malloc_slow(BoundedCache& cache, size_t bytes) noexcept {
  check_alive(cache, "talus_bounded_cache_malloc");
  return bounded_allocate(*cache.instance, {bytes, block_alignment});
}
TALUS_FAST void* bounded_cache_malloc(talus_bounded_cache* handle, size_t bytes) noexcept {
  BoundedCache& cache = cache_in(handle);
  if (TALUS_UNLIKELY(bytes > small_bytes_max)) return bounded_cache_malloc_slow(cache, bytes);
  void* block = pop_bounded(bounded_list(cache, index_of(small_class_of(bytes))), true);
  return TALUS_LIKELY(block != nullptr) ? block : bounded_cache_malloc_slow(cache, bytes);
}

TALUS_SLOW void bounded_free_full(Bounded& instance, void* pointer) noexcept {
  give_bounded(instance, pool_index_of(instance, pointer), pointer);
}
TALUS_SLOW void bounded_free_other(Bounded& instance, void* pointer) noexcept {
  if (pointer == nullptr) return;
  check_alive(instance, "talus_bounded_free");
  const ErrnoKept kept;
  instance.fallback.free(instance.fallback.context, pointer);
}
TALUS_FAST void bounded_free(talus_bounded* handle, void* pointer) noexcept {
  Bounded& instance = bounded_in(handle);
  const size_t index = pool_index_of(instance, pointer);
  // leaves: null, the fallback's, dead
  if (TALUS_UNLIKELY(index >= instance.pool_count)) return bounded_free_other(instance, pointer);
  if (TALUS_LIKELY(push_bounded(bounded_list(bounded_cache_of(instance), index), pointer))) return;
  bounded_free_full(instance, pointer);
}

TALUS_SLOW void bounded_cache_free_slow(BoundedCache& cache, void* pointer) noexcept {
  if (pointer == nullptr) return;
  check_alive(cache, "talus_bounded_cache_free");
  Bounded& instance = *cache.instance;
  const size_t index = pool_index_of(instance, pointer);
  if (index >= instance.pool_count) return bounded_free_other(instance, pointer);
  give_bounded(instance, index, pointer);
}
TALUS_FAST void bounded_cache_free(talus_bounded_cache* handle, void* pointer) noexcept {
  BoundedCache& cache = cache_in(handle);
  const size_t index = pool_index_of(cache, pointer);
  if (TALUS_UNLIKELY(index >= cache.pool_count)) return bounded_cache_free_slow(cache, pointer);
  if (TALUS_LIKELY(push_bounded(bounded_list(cache, index), pointer))) return;
  bounded_cache_free_slow(cache, pointer);
}

inline void* bounded_aligned_alloc(talus_bounded* handle, size_t alignment, size_t bytes) noexcept {
  Bounded& instance = bounded_in(handle);
  check_alive(instance, "talus_bounded_aligned_alloc");
  if (!is_power_of_two(alignment)) return invalid_argument();
  return bounded_allocate(instance,
                          {bytes, alignment > block_alignment ? alignment : block_alignment});
}

inline void* bounded_calloc(talus_bounded* handle, size_t count, size_t bytes) noexcept {
  Bounded& instance = bounded_in(handle);
  check_alive(instance, "talus_bounded_calloc");
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  // The default fallback need not clear pages fresh from the kernel; calloc knows them.
  const bool is_heap = instance.fallback.alloc == heap_for_bounded.alloc;
  void* block = nullptr;
  if (!is_heap) {
    block = bounded_allocate(instance, {total, block_alignment});
  } else {
    block = take_of_pools(instance, {total, block_alignment});
    if (block == nullptr) {
      count_bounded(instance, bounded_cache_of(instance), BoundedEvent::routed,
                    class_requested({total, block_alignment}));
      return api::calloc(1, total);
    }
  }
  if (block != nullptr) clear_bytes(block, total);
  return block;
}

inline size_t bounded_usable_size(talus_bounded* handle, const void* pointer) noexcept {
  Bounded& instance = bounded_in(handle);
  check_alive(instance, "talus_bounded_usable_size");
  if (pointer == nullptr) return 0;
  const size_t index = pool_index_of(instance, pointer);
  if (index < instance.pool_count) return instance.pools[index].block_bytes;
  const ErrnoKept kept;
  return instance.fallback.usable_size(instance.fallback.context, pointer);
}

// ---- resize

// A block may stay if the request uses more than half of it.
inline bool may_stay(size_t usable, const void* pointer, const BoundedRequest& request) noexcept {
  return request.bytes <= usable && (request.bytes > usable / 2 || usable == block_alignment) &&
         reinterpret_cast<uintptr_t>(pointer) % request.alignment == 0;
}

// Copies the contents and frees the old block. Null: nothing has changed.
inline void* bounded_move(talus_bounded* handle, void* pointer, void* to, size_t bytes) noexcept {
  if (to == nullptr) return nullptr;
  const size_t usable = bounded_usable_size(handle, pointer);
  copy_bytes(to, pointer, usable < bytes ? usable : bytes);
  bounded_free(handle, pointer);
  return to;
}

// A fallback block moves to a pool that has a block for it; otherwise the fallback resizes it.
inline void* bounded_realloc_routed(talus_bounded* handle, void* pointer,
                                    const BoundedRequest& request) noexcept {
  Bounded& instance = bounded_in(handle);
  if (void* to = take_of_pools(instance, request)) {
    return bounded_move(handle, pointer, to, request.bytes);
  }
  const ErrnoKept kept;
  count_bounded(instance, bounded_cache_of(instance), BoundedEvent::routed,
                class_requested(request));
  const talus_bounded_fallback& fallback = instance.fallback;
  return fallback.realloc(fallback.context, pointer, request.bytes, request.alignment);
}

inline void* bounded_realloc_at(talus_bounded* handle, void* pointer,
                                const BoundedRequest& request) noexcept {
  Bounded& instance = bounded_in(handle);
  if (pointer == nullptr) return bounded_allocate(instance, request);
  if (request.bytes == 0) {
    bounded_free(handle, pointer);
    return nullptr;
  }
  const size_t index = pool_index_of(instance, pointer);
  if (index >= instance.pool_count) {
    return or_enomem(bounded_realloc_routed(handle, pointer, request));
  }
  const size_t usable = instance.pools[index].block_bytes;
  if (may_stay(usable, pointer, request)) return pointer;
  void* to = take_of_pools(instance, request);
  if (to == nullptr) to = route(instance, request);
  if (to != nullptr) return bounded_move(handle, pointer, to, request.bytes);
  const bool is_right = reinterpret_cast<uintptr_t>(pointer) % request.alignment == 0;
  return request.bytes <= usable && is_right ? pointer : out_of_memory();
}

inline void* bounded_realloc(talus_bounded* handle, void* pointer, size_t bytes) noexcept {
  check_alive(bounded_in(handle), "talus_bounded_realloc");
  return bounded_realloc_at(handle, pointer, {bytes, block_alignment});
}
inline void* bounded_aligned_realloc(talus_bounded* handle, void* pointer, size_t alignment,
                                     size_t bytes) noexcept {
  check_alive(bounded_in(handle), "talus_bounded_aligned_realloc");
  if (!is_power_of_two(alignment)) return invalid_argument();
  return bounded_realloc_at(handle, pointer,
                            {bytes, alignment > block_alignment ? alignment : block_alignment});
}

// ---- life

inline bool is_sound(const talus_bounded_options& request) noexcept {
  if (request.pools == 0 || request.pools > small_class_count) return false;
  if ((request.flags & ~unsigned{TALUS_BOUNDED_TOUCH}) != 0) return false;
  for (size_t index = 0; index < request.pools; index++) {
    if (budget_of(request, index) > bounded_budget_max) return false;
  }
  const talus_bounded_fallback* fallback = request.fallback;
  return fallback == nullptr || (fallback->alloc != nullptr && fallback->free != nullptr &&
                                 fallback->realloc != nullptr && fallback->usable_size != nullptr);
}

inline talus_bounded* bounded_new(const talus_bounded_options* request) noexcept {
  if (request == nullptr || !is_sound(*request)) {
    errno = EINVAL;
    return nullptr;
  }
  Bounded* instance =
      make_bounded(*request, request->fallback != nullptr ? *request->fallback : heap_for_bounded);
  if (instance == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if ((request->flags & TALUS_BOUNDED_TOUCH) != 0) touch_pools(*instance);
  return bounded_for(instance);
}

inline void bounded_destroy(talus_bounded* handle) noexcept {
  if (handle == nullptr) return;
  check_alive(bounded_in(handle), "talus_bounded_destroy");
  destroy_bounded(bounded_in(handle));
}

// True when Talus will learn of the calling thread's end, because the thread has a cache of the
// heap. Makes one if needed. A thread that has ended gets none again.
inline bool is_thread_watched() noexcept { return cache_behind(current_context()) != nullptr; }
// True when the thread's end, and with it the end of its caches here, is over.
inline bool is_past_end() noexcept {
  return !is_of_new_thread(current_context()) && existing_cache() == nullptr;
}

inline talus_bounded_cache* bounded_cache_new(talus_bounded* handle, const size_t* capacities,
                                              talus_bounded_start start) noexcept {
  Bounded& instance = bounded_in(handle);
  check_alive(instance, "talus_bounded_cache_new");
  const auto quarters = 2 * static_cast<size_t>(start);
  if (quarters > 4 || has_bounded_cache(instance)) {
    errno = quarters > 4 ? EINVAL : EEXIST;
    return nullptr;
  }
  BoundedCache* cache = nullptr;
  {
    const ErrnoKept kept;
    if (is_thread_watched()) cache = make_bounded_cache(instance, capacities);
  }
  if (cache == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  warm_bounded_cache(*cache, quarters);
  return reinterpret_cast<talus_bounded_cache*>(cache);
}

inline void bounded_cache_destroy(talus_bounded_cache* handle) noexcept {
  // Another thread may own its memory by now.
  if (handle == nullptr || is_past_end()) return;
  check_alive(cache_in(handle), "talus_bounded_cache_destroy");
  destroy_bounded_cache(cache_in(handle));
}

// ---- ask

inline size_t bounded_pools_for(size_t bytes) noexcept {
  if (bytes >= small_bytes_max) return small_class_count;
  const size_t index = index_of(small_class_of(bytes));
  return size_class_table.rows[index].block_bytes <= bytes ? index + 1 : index;
}
inline size_t bounded_pool_bytes(size_t pool) noexcept {
  return pool < small_class_count ? size_class_table.rows[pool].block_bytes : 0;
}
inline int bounded_pool_of(talus_bounded* handle, const void* pointer) noexcept {
  Bounded& instance = bounded_in(handle);
  check_alive(instance, "talus_bounded_pool_of");
  const size_t index = pool_index_of(instance, pointer);
  return index < instance.pool_count ? static_cast<int>(index) : -1;
}
inline talus_bounded_numbers bounded_stats(talus_bounded* handle, size_t pool) noexcept {
  check_alive(bounded_in(handle), "talus_bounded_stats");
  return numbers_of_bounded(bounded_in(handle), pool);
}

}  // namespace talus::core::api

#endif  // TALUS_API_BOUNDED_HPP
