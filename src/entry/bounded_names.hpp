// SPDX-License-Identifier: MIT
// entry/bounded_names: the bodies of bounded.h, one line each.
//
// Owns: nothing. Part of talus_names.hpp, whose TALUS_ENTRY precedes each body.
#ifndef TALUS_ENTRY_BOUNDED_NAMES_HPP
#define TALUS_ENTRY_BOUNDED_NAMES_HPP

#include "talus/bounded.h"
#include "api/bounded.hpp"

TALUS_ENTRY size_t talus_bounded_pools_for(size_t bytes) noexcept {
  return talus::core::api::bounded_pools_for(bytes);
}
TALUS_ENTRY size_t talus_bounded_pool_bytes(size_t pool) noexcept {
  return talus::core::api::bounded_pool_bytes(pool);
}
TALUS_ENTRY talus_bounded* talus_bounded_new(const talus_bounded_options* options) noexcept {
  return talus::core::api::bounded_new(options);
}
TALUS_ENTRY void talus_bounded_destroy(talus_bounded* instance) noexcept {
  talus::core::api::bounded_destroy(instance);
}
TALUS_ENTRY void* talus_bounded_malloc(talus_bounded* instance, size_t bytes) noexcept {
  return talus::core::api::bounded_malloc(instance, bytes);
}
TALUS_ENTRY void* talus_bounded_calloc(talus_bounded* instance, size_t count,
                                       size_t bytes) noexcept {
  return talus::core::api::bounded_calloc(instance, count, bytes);
}
TALUS_ENTRY void* talus_bounded_aligned_alloc(talus_bounded* instance, size_t alignment,
                                              size_t bytes) noexcept {
  return talus::core::api::bounded_aligned_alloc(instance, alignment, bytes);
}
TALUS_ENTRY void* talus_bounded_realloc(talus_bounded* instance, void* pointer,
                                        size_t bytes) noexcept {
  return talus::core::api::bounded_realloc(instance, pointer, bytes);
}
TALUS_ENTRY void* talus_bounded_aligned_realloc(talus_bounded* instance, void* pointer,
                                                size_t alignment, size_t bytes) noexcept {
  return talus::core::api::bounded_aligned_realloc(instance, pointer, alignment, bytes);
}
TALUS_ENTRY void talus_bounded_free(talus_bounded* instance, void* pointer) noexcept {
  talus::core::api::bounded_free(instance, pointer);
}
TALUS_ENTRY size_t talus_bounded_usable_size(talus_bounded* instance,
                                             const void* pointer) noexcept {
  return talus::core::api::bounded_usable_size(instance, pointer);
}
TALUS_ENTRY int talus_bounded_pool_of(talus_bounded* instance, const void* pointer) noexcept {
  return talus::core::api::bounded_pool_of(instance, pointer);
}
TALUS_ENTRY talus_bounded_cache* talus_bounded_cache_new(talus_bounded* instance,
                                                         const size_t* capacities,
                                                         enum talus_bounded_start start) noexcept {
  return talus::core::api::bounded_cache_new(instance, capacities, start);
}
TALUS_ENTRY void talus_bounded_cache_destroy(talus_bounded_cache* cache) noexcept {
  talus::core::api::bounded_cache_destroy(cache);
}
TALUS_ENTRY void* talus_bounded_cache_malloc(talus_bounded_cache* cache, size_t bytes) noexcept {
  return talus::core::api::bounded_cache_malloc(cache, bytes);
}
TALUS_ENTRY void talus_bounded_cache_free(talus_bounded_cache* cache, void* pointer) noexcept {
  talus::core::api::bounded_cache_free(cache, pointer);
}
TALUS_ENTRY talus_bounded_numbers talus_bounded_stats(talus_bounded* instance,
                                                      size_t pool) noexcept {
  return talus::core::api::bounded_stats(instance, pool);
}

#endif  // TALUS_ENTRY_BOUNDED_NAMES_HPP
