// SPDX-License-Identifier: MIT
// talus_sys: the functions that the crate declares, compiled from the one file of Talus.
//
// Owns: their names. They differ from talus.h's, so that a preloaded libtalus.so, or another crate
// with Talus in it, does not take their place.
#include "talus.hpp"

extern "C" void* talus_sys_malloc(size_t bytes) noexcept { return talus_malloc(bytes); }
extern "C" void* talus_sys_calloc(size_t count, size_t bytes) noexcept {
  return talus_calloc(count, bytes);
}
extern "C" void* talus_sys_calloc_aligned(size_t alignment, size_t count, size_t bytes) noexcept {
  return talus_calloc_aligned(alignment, count, bytes);
}
extern "C" void* talus_sys_realloc(void* pointer, size_t bytes) noexcept {
  return talus_realloc(pointer, bytes);
}
extern "C" void* talus_sys_aligned_realloc(void* pointer, size_t alignment, size_t bytes) noexcept {
  return talus_aligned_realloc(pointer, alignment, bytes);
}
extern "C" void* talus_sys_aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return talus_aligned_alloc(alignment, bytes);
}
extern "C" void* talus_sys_expand(void* pointer, size_t bytes) noexcept {
  return talus_expand(pointer, bytes);
}
extern "C" void talus_sys_free(void* pointer) noexcept { talus_free(pointer); }
extern "C" size_t talus_sys_usable_size(const void* pointer) noexcept {
  return talus_usable_size(pointer);
}
extern "C" size_t talus_sys_good_size(size_t bytes) noexcept { return talus_good_size(bytes); }
extern "C" size_t talus_sys_trim(size_t keep_bytes) noexcept { return talus_trim(keep_bytes); }
extern "C" size_t talus_sys_release(size_t bytes) noexcept { return talus_release(bytes); }
extern "C" void talus_sys_set_limits(size_t soft_bytes, size_t hard_bytes) noexcept {
  talus_set_limits(soft_bytes, hard_bytes);
}
extern "C" int talus_sys_set_option(const char* name, const char* value) noexcept {
  return talus_set_option(name, value);
}
extern "C" int talus_sys_get_option(const char* name, char* text, size_t bytes) noexcept {
  return talus_get_option(name, text, bytes);
}
extern "C" int talus_sys_option_source(const char* name, char* text, size_t bytes) noexcept {
  return talus_option_source(name, text, bytes);
}
extern "C" int talus_sys_get(const char* name, uint64_t* value) noexcept {
  return talus_get(name, value);
}
extern "C" talus_heap* talus_sys_heap_new(const talus_heap_options* options) noexcept {
  return talus_heap_new(options);
}
extern "C" void* talus_sys_heap_malloc(talus_heap* heap, size_t bytes) noexcept {
  return talus_heap_malloc(heap, bytes);
}
extern "C" void* talus_sys_heap_calloc(talus_heap* heap, size_t count, size_t bytes) noexcept {
  return talus_heap_calloc(heap, count, bytes);
}
extern "C" void* talus_sys_heap_aligned_alloc(talus_heap* heap, size_t alignment,
                                              size_t bytes) noexcept {
  return talus_heap_aligned_alloc(heap, alignment, bytes);
}
extern "C" void* talus_sys_heap_realloc(talus_heap* heap, void* pointer, size_t bytes) noexcept {
  return talus_heap_realloc(heap, pointer, bytes);
}
extern "C" void talus_sys_heap_free(talus_heap* heap, void* pointer) noexcept {
  talus_heap_free(heap, pointer);
}
extern "C" void talus_sys_heap_clear(talus_heap* heap) noexcept { talus_heap_clear(heap); }
extern "C" void talus_sys_heap_destroy(talus_heap* heap) noexcept { talus_heap_destroy(heap); }
extern "C" int talus_sys_heap_contains(talus_heap* heap, const void* pointer) noexcept {
  return talus_heap_contains(heap, pointer);
}
extern "C" talus_heap_numbers talus_sys_heap_stats(talus_heap* heap) noexcept {
  return talus_heap_stats(heap);
}
extern "C" const char* talus_sys_version() noexcept { return talus_version(); }
extern "C" int talus_sys_stats_print(int descriptor, int format) noexcept {
  return talus_stats_print(descriptor, static_cast<talus_stats_format>(format));
}
