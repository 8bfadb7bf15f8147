// SPDX-License-Identifier: MIT
// api/heaps: the talus_heap_* functions.
//
// Owns: errno and argument checks of these functions; the form of a handle. Invariants: null names
// the heap of talus_malloc in calls that allocate and free, and no heap in calls that end an
// instance. A dead handle is reported with the name of the call. Called on: any thread.
#ifndef TALUS_API_HEAPS_HPP
#define TALUS_API_HEAPS_HPP

#include "talus/talus.h"
#include "base/base.hpp"
#include "os/report.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "regions/region_life.hpp"
#include "regions/region_request.hpp"
#include "regions/region_words.hpp"
#include "paths/instance_region.hpp"
#include "instances/instance_from.hpp"
#include "instances/instance_life.hpp"
#include "inspect/instance_look.hpp"
#include "api/extended.hpp"
#include "api/entry.hpp"

namespace talus::core::api {

// A handle is a number. Programs see it as a pointer, which nothing dereferences.
TALUS_FAST uintptr_t handle_in(const talus_heap* heap) noexcept {
  return reinterpret_cast<uintptr_t>(heap);
}
TALUS_FAST talus_heap* heap_for(uintptr_t handle) noexcept {
  return reinterpret_cast<talus_heap*>(handle);
}

// True when the heap has a region, instead of slabs in the address space of all heaps.
inline bool wants_region(const talus_heap_options& requests,
                         const RegionRequest& request) noexcept {
  return request.provider.kind != TALUS_PROVIDER_OS || request.provider.bytes != 0 ||
         request.node != 0 || (requests.flags & TALUS_HEAP_OWN_PAGES) != 0;
}
inline int errno_of(RegionError refusal) noexcept {
  switch (refusal) {
    case RegionError::node:
      return EINVAL;
    case RegionError::forbidden:
      return EPERM;
    default:
      return ENOMEM;
  }
}

// False: a mode that a heap cannot be in.
inline bool set_mode(InstanceRequest& request, unsigned mode) noexcept {
  if (mode == TALUS_MODE_CHECKED) request.mode = InstanceMode::checked;
  return mode == TALUS_MODE_PROCESS || mode == TALUS_MODE_CHECKED;
}

inline talus_heap* heap_new(const talus_heap_options* asked) noexcept {
  const talus_heap_options requests = asked != nullptr ? *asked : talus_heap_options{};
  InstanceRequest wanted{requests.name, requests.limit_bytes, InstanceMode::as_process};
  RegionRequest request;
  if (requests.provider != nullptr) request.provider = *requests.provider;
  request.name = requests.name;
  request.node = requests.numa_node;
  const bool has_mode = set_mode(wanted, static_cast<unsigned>(requests.mode));
  if (!has_mode || (requests.flags & ~TALUS_HEAP_OWN_PAGES) != 0 || !is_possible(request)) {
    errno = EINVAL;
    return nullptr;
  }
  RegionError refusal = RegionError::memory;
  const uintptr_t handle = wants_region(requests, request)
                               ? make_instance_in(request, wanted, refusal)
                               : make_instance(wanted);
  TALUS_ASSERT(handle == 0 || is_instance(id_in_handle(handle)));
  if (handle == 0) errno = errno_of(refusal);
  return heap_for(handle);
}

TALUS_FAST void* heap_malloc(talus_heap* heap, size_t bytes) noexcept {
  return or_enomem(allocate_from(handle_in(heap), bytes, "talus_heap_malloc"));
}

inline void* heap_calloc(talus_heap* heap, size_t count, size_t bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  if (heap == nullptr) return calloc_whole(block_alignment, 1, total);
  return or_enomem(
      allocate_zeroed_from(handle_in(heap), {total, block_alignment, "talus_heap_calloc"}));
}

inline void* heap_aligned_alloc(talus_heap* heap, size_t alignment, size_t bytes) noexcept {
  if (!is_power_of_two(alignment)) return invalid_argument();
  if (heap == nullptr) return allocate_at(alignment, bytes);
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2) return out_of_memory();
  return or_enomem(allocate_from(handle_in(heap), {bytes, alignment, "talus_heap_aligned_alloc"}));
}

// Reports a block that is not of this heap; null is the heap of talus_malloc.
inline void check_owner(talus_heap* heap, void* pointer, const char* call) noexcept {
  if (heap != nullptr) {
    const Inside inside{handle_in(heap), call};
  }
  if (instance_of(pointer) != handle_in(heap)) report::foreign_pointer(pointer, call);
}

inline void* realloc_in_nameless(talus_heap* heap, void* pointer, size_t bytes) noexcept {
  if (bytes == 0) {
    free_from(handle_in(heap), pointer, "talus_heap_realloc");
    return nullptr;
  }
  bool is_at_limit = false;
  const FallBack none = [](uintptr_t, size_t, bool&) noexcept -> void* { return nullptr; };
  return or_enomem(reallocate_in_region(handle_in(heap), pointer, bytes, "talus_heap_realloc", none,
                                        is_at_limit));
}

inline void* heap_realloc(talus_heap* heap, void* pointer, size_t bytes) noexcept {
  if (pointer == nullptr) {
    return or_enomem(allocate_from(handle_in(heap), bytes, "talus_heap_realloc"));
  }
  if (heap != nullptr && is_nameless(handle_in(heap), pointer, "talus_heap_realloc")) {
    return realloc_in_nameless(heap, pointer, bytes);
  }
  check_owner(heap, pointer, "talus_heap_realloc");
  return realloc_by_call(pointer, bytes);
}

// free and talus_free take blocks of any heap; this one only blocks of the named heap.
inline void heap_free(talus_heap* heap, void* pointer) noexcept {
  if (TALUS_UNLIKELY(pointer == nullptr)) return;
  if (TALUS_UNLIKELY(heap == nullptr)) check_owner(heap, pointer, "talus_heap_free");
  free_from(handle_in(heap), pointer, "talus_heap_free");
}

inline void heap_clear(talus_heap* heap) noexcept {
  clear_instance(handle_in(heap), "talus_heap_clear");
}
inline void heap_destroy(talus_heap* heap) noexcept {
  if (heap != nullptr) destroy_instance(handle_in(heap), "talus_heap_destroy");
}
inline int heap_delete(talus_heap* heap) noexcept {
  if (heap == nullptr) return 0;
  {
    const Inside inside{handle_in(heap), "talus_heap_delete"};
    const RegionHeap* region = inside.slot().region;
    if (region != nullptr && !region->source->may_outlive_heap) return EINVAL;
  }
  return delete_instance(handle_in(heap), "talus_heap_delete") ? 0 : ENOMEM;
}

inline talus_heap* heap_of(const void* pointer) noexcept { return heap_for(instance_of(pointer)); }

inline int heap_contains(talus_heap* heap, const void* pointer) noexcept {
  return instance_contains(handle_in(heap), pointer, "talus_heap_contains") ? 1 : 0;
}

inline int heap_walk(talus_heap* heap, talus_heap_visitor visitor, void* context) noexcept {
  int answer = 0;
  const auto visit = [&](const AreaFacts& facts, void* block) noexcept {
    const talus_heap_area area = {reinterpret_cast<void*>(facts.base), facts.bytes,
                                  facts.block_bytes, facts.block_count, facts.live_count};
    answer = visitor(&area, block, context);
    return answer == 0;
  };
  walk_instance(handle_in(heap), "talus_heap_walk", visit);
  return answer;
}

inline talus_heap_numbers heap_stats(talus_heap* heap) noexcept {
  return numbers_of_instance(handle_in(heap), "talus_heap_stats");
}

inline const char* heap_name(talus_heap* heap) noexcept {
  const Inside inside{handle_in(heap), "talus_heap_name"};
  return inside.heap().name;
}

}  // namespace talus::core::api

#endif  // TALUS_API_HEAPS_HPP
