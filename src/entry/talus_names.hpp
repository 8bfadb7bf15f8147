// SPDX-License-Identifier: MIT
// entry/talus_names: the bodies of talus.h, one line each.
//
// Owns: nothing. TALUS_ENTRY precedes each body: `extern "C"` and visibility in the compiled
// library, `static inline` in the header-only one. So both have the same list.
#ifndef TALUS_ENTRY_TALUS_NAMES_HPP
#define TALUS_ENTRY_TALUS_NAMES_HPP

#include "talus/talus.h"
#include "base/base.hpp"
#include "settings/version.hpp"
#include "settings/machine.hpp"
#include "reclaim/purge_now.hpp"
#include "threads/page_listener.hpp"
#include "api/entry.hpp"
#include "api/extended.hpp"
#include "api/heaps.hpp"
#include "api/options.hpp"
#include "api/statistics.hpp"

TALUS_ENTRY void* talus_malloc(size_t bytes) noexcept { return talus::core::api::malloc(bytes); }
TALUS_ENTRY void* talus_calloc(size_t count, size_t bytes) noexcept {
  return talus::core::api::calloc_whole(talus::core::block_alignment, count, bytes);
}
TALUS_ENTRY void* talus_realloc(void* pointer, size_t bytes) noexcept {
  return talus::core::api::realloc(pointer, bytes);
}
TALUS_ENTRY void* talus_reallocarray(void* pointer, size_t count, size_t bytes) noexcept {
  return talus::core::api::reallocarray(pointer, count, bytes);
}
TALUS_ENTRY void* talus_reallocf(void* pointer, size_t bytes) noexcept {
  return talus::core::api::reallocf(pointer, bytes);
}
TALUS_ENTRY void* talus_recallocarray(void* pointer, size_t old_count, size_t count,
                                      size_t bytes) noexcept {
  return talus::core::api::recallocarray(pointer, old_count, count, bytes);
}
TALUS_ENTRY void talus_free(void* pointer) noexcept { talus::core::api::free(pointer); }
TALUS_ENTRY void talus_free_sized(void* pointer, size_t bytes) noexcept {
  talus::core::api::free_sized(pointer, bytes);
}
TALUS_ENTRY void talus_free_aligned_sized(void* pointer, size_t alignment, size_t bytes) noexcept {
  talus::core::api::free_aligned_sized(pointer, alignment, bytes);
}
TALUS_ENTRY void talus_freezero(void* pointer, size_t bytes) noexcept {
  talus::core::api::freezero(pointer, bytes);
}
TALUS_ENTRY void* talus_aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return talus::core::api::aligned_alloc(alignment, bytes);
}
TALUS_ENTRY void* talus_memalign(size_t alignment, size_t bytes) noexcept {
  return talus::core::api::memalign(alignment, bytes);
}
TALUS_ENTRY int talus_posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  return talus::core::api::posix_memalign(result, alignment, bytes);
}
TALUS_ENTRY void* talus_valloc(size_t bytes) noexcept { return talus::core::api::valloc(bytes); }
TALUS_ENTRY void* talus_pvalloc(size_t bytes) noexcept { return talus::core::api::pvalloc(bytes); }
TALUS_ENTRY void* talus_zalloc(size_t bytes) noexcept {
  return talus::core::api::rezalloc(nullptr, bytes);
}
TALUS_ENTRY void* talus_calloc_aligned(size_t alignment, size_t count, size_t bytes) noexcept {
  return talus::core::api::calloc_whole(alignment, count, bytes);
}
TALUS_ENTRY void* talus_rezalloc(void* pointer, size_t bytes) noexcept {
  return talus::core::api::rezalloc(pointer, bytes);
}
TALUS_ENTRY void* talus_recalloc(void* pointer, size_t count, size_t bytes) noexcept {
  return talus::core::api::recalloc(pointer, count, bytes);
}
TALUS_ENTRY void* talus_expand(void* pointer, size_t bytes) noexcept {
  return talus::core::api::expand_in_place(pointer, bytes);
}
TALUS_ENTRY void* talus_realloc_no_preserve(void* pointer, size_t bytes) noexcept {
  return talus::core::api::realloc_no_preserve(pointer, bytes);
}
TALUS_ENTRY void* talus_aligned_realloc(void* pointer, size_t alignment, size_t bytes) noexcept {
  return talus::core::api::aligned_realloc(pointer, alignment, bytes);
}
TALUS_ENTRY void* talus_memalign_at(size_t alignment, size_t offset, size_t bytes) noexcept {
  return talus::core::api::memalign_at(alignment, offset, bytes);
}
TALUS_ENTRY talus_block talus_allocate_at_least(size_t bytes) noexcept {
  return talus::core::api::allocate_at_least(talus::core::block_alignment, bytes);
}
TALUS_ENTRY talus_block talus_aligned_allocate_at_least(size_t alignment, size_t bytes) noexcept {
  return talus::core::api::allocate_at_least(alignment, bytes);
}
TALUS_ENTRY size_t talus_malloc_batch(size_t bytes, size_t count, void** blocks) noexcept {
  return talus::core::api::malloc_batch(bytes, count, blocks);
}
TALUS_ENTRY void talus_free_batch(void* const* blocks, size_t count) noexcept {
  talus::core::api::free_batch(blocks, count);
}
TALUS_ENTRY char* talus_strdup(const char* text) noexcept { return talus::core::api::strdup(text); }
TALUS_ENTRY char* talus_strndup(const char* text, size_t bytes_max) noexcept {
  return talus::core::api::strndup(text, bytes_max);
}
TALUS_ENTRY char* talus_realpath(const char* path, char* resolved) noexcept {
  return talus::core::api::realpath(path, resolved);
}
TALUS_ENTRY size_t talus_usable_size(const void* pointer) noexcept {
  return talus::core::api::malloc_usable_size(const_cast<void*>(pointer));
}
TALUS_ENTRY size_t talus_good_size(size_t bytes) noexcept {
  return talus::core::api::malloc_good_size(bytes);
}
TALUS_ENTRY size_t talus_trim(size_t keep_bytes) noexcept {
  return talus::core::purge_beyond(keep_bytes);
}
TALUS_ENTRY size_t talus_release(size_t bytes) noexcept { return talus::core::purge_bytes(bytes); }
TALUS_ENTRY void talus_set_limits(size_t soft_bytes, size_t hard_bytes) noexcept {
  talus::core::api::set_limits(soft_bytes, hard_bytes);
}
TALUS_ENTRY void talus_set_limit_handler(talus_limit_handler handler) noexcept {
  talus::core::limits.handler.store_release(handler);
}
TALUS_ENTRY void talus_set_page_listener(talus_page_listener listener) noexcept {
  talus::core::set_page_listener(listener);
}
TALUS_ENTRY int talus_set_option(const char* name, const char* value) noexcept {
  return talus::core::api::set_option(name, value);
}
TALUS_ENTRY int talus_get_option(const char* name, char* text, size_t bytes) noexcept {
  return talus::core::api::get_option(name, text, bytes);
}
TALUS_ENTRY int talus_option_source(const char* name, char* text, size_t bytes) noexcept {
  return talus::core::api::option_source(name, text, bytes);
}
TALUS_ENTRY int talus_get(const char* name, uint64_t* value) noexcept {
  return talus::core::api::get_value(name, value);
}
TALUS_ENTRY uint64_t talus_thread_allocated(void) noexcept {
  return talus::core::api::thread_allocated();
}
TALUS_ENTRY int talus_stats_print(int descriptor, enum talus_stats_format format) noexcept {
  return talus::core::api::stats_print(descriptor, format);
}
TALUS_ENTRY talus_heap* talus_heap_new(const talus_heap_options* options) noexcept {
  return talus::core::api::heap_new(options);
}
TALUS_ENTRY void* talus_heap_malloc(talus_heap* heap, size_t bytes) noexcept {
  return talus::core::api::heap_malloc(heap, bytes);
}
TALUS_ENTRY void* talus_heap_calloc(talus_heap* heap, size_t count, size_t bytes) noexcept {
  return talus::core::api::heap_calloc(heap, count, bytes);
}
TALUS_ENTRY void* talus_heap_aligned_alloc(talus_heap* heap, size_t alignment,
                                           size_t bytes) noexcept {
  return talus::core::api::heap_aligned_alloc(heap, alignment, bytes);
}
TALUS_ENTRY void* talus_heap_realloc(talus_heap* heap, void* pointer, size_t bytes) noexcept {
  return talus::core::api::heap_realloc(heap, pointer, bytes);
}
TALUS_ENTRY void talus_heap_free(talus_heap* heap, void* pointer) noexcept {
  talus::core::api::heap_free(heap, pointer);
}
TALUS_ENTRY void talus_heap_clear(talus_heap* heap) noexcept { talus::core::api::heap_clear(heap); }
TALUS_ENTRY void talus_heap_destroy(talus_heap* heap) noexcept {
  talus::core::api::heap_destroy(heap);
}
TALUS_ENTRY int talus_heap_delete(talus_heap* heap) noexcept {
  return talus::core::api::heap_delete(heap);
}
TALUS_ENTRY talus_heap* talus_heap_of(const void* pointer) noexcept {
  return talus::core::api::heap_of(pointer);
}
TALUS_ENTRY int talus_heap_contains(talus_heap* heap, const void* pointer) noexcept {
  return talus::core::api::heap_contains(heap, pointer);
}
TALUS_ENTRY int talus_heap_walk(talus_heap* heap, talus_heap_visitor visitor,
                                void* context) noexcept {
  return talus::core::api::heap_walk(heap, visitor, context);
}
TALUS_ENTRY talus_heap_numbers talus_heap_stats(talus_heap* heap) noexcept {
  return talus::core::api::heap_stats(heap);
}
TALUS_ENTRY const char* talus_heap_name(talus_heap* heap) noexcept {
  return talus::core::api::heap_name(heap);
}
TALUS_ENTRY const char* talus_version(void) noexcept { return talus::core::version_text; }

#include "entry/bounded_names.hpp"  // IWYU pragma: keep (it defines more functions)
#include "entry/profile_names.hpp"  // IWYU pragma: keep (likewise)

#endif  // TALUS_ENTRY_TALUS_NAMES_HPP
