// SPDX-License-Identifier: MIT
// door/libc: the names of the C library's allocator, all of them together.
//
// Owns: the names. A process whose malloc is ours but whose memalign is not would mix two heaps,
// so every name that glibc, musl, the BSDs and C23 have is here. Compiled without built-ins, so
// that no function becomes a call of itself.
#include "api/entry.hpp"
#include "api/libc_extras.hpp"
#include "door/life.hpp"

#define TALUS_NAME extern "C" TALUS_EXPORT
#define TALUS_USUAL_NAME extern "C" TALUS_USUAL_DOOR TALUS_EXPORT

TALUS_USUAL_NAME void* malloc(size_t bytes) noexcept { return talus::api::malloc(bytes); }
TALUS_USUAL_NAME void free(void* pointer) noexcept { talus::api::free(pointer); }
TALUS_USUAL_NAME void* calloc(size_t count, size_t bytes) noexcept {
  return talus::api::calloc(count, bytes);
}
TALUS_USUAL_NAME void* realloc(void* pointer, size_t bytes) noexcept {
  return talus::api::realloc(pointer, bytes);
}
TALUS_NAME void cfree(void* pointer) noexcept { talus::api::free(pointer); }
TALUS_NAME void* reallocarray(void* pointer, size_t count, size_t bytes) noexcept {
  return talus::api::reallocarray(pointer, count, bytes);
}
TALUS_USUAL_NAME void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return talus::api::aligned_alloc(alignment, bytes);
}
TALUS_NAME void* memalign(size_t alignment, size_t bytes) noexcept {
  return talus::api::memalign(alignment, bytes);
}
TALUS_USUAL_NAME int posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  return talus::api::posix_memalign(result, alignment, bytes);
}
TALUS_NAME void* valloc(size_t bytes) noexcept { return talus::api::valloc(bytes); }
TALUS_NAME void* pvalloc(size_t bytes) noexcept { return talus::api::pvalloc(bytes); }
TALUS_USUAL_NAME size_t malloc_usable_size(void* pointer) noexcept {
  return talus::api::malloc_usable_size(pointer);
}

// C23 and the BSDs.
TALUS_NAME void free_sized(void* pointer, size_t bytes) noexcept {
  talus::api::free_sized(pointer, bytes);
}
TALUS_NAME void free_aligned_sized(void* pointer, size_t alignment, size_t bytes) noexcept {
  talus::api::free_aligned_sized(pointer, alignment, bytes);
}
TALUS_NAME void* reallocf(void* pointer, size_t bytes) noexcept {
  return talus::api::reallocf(pointer, bytes);
}
TALUS_NAME void* recallocarray(void* pointer, size_t old_count, size_t count,
                               size_t bytes) noexcept {
  return talus::api::recallocarray(pointer, old_count, count, bytes);
}
TALUS_NAME void freezero(void* pointer, size_t bytes) noexcept {
  talus::api::freezero(pointer, bytes);
}
TALUS_NAME size_t malloc_good_size(size_t bytes) noexcept {
  return talus::api::malloc_good_size(bytes);
}
TALUS_NAME size_t malloc_size(const void* pointer) noexcept {
  return talus::api::malloc_usable_size(const_cast<void*>(pointer));
}

// glibc's view into the heap.
TALUS_NAME int malloc_trim(size_t keep_bytes) noexcept {
  return talus::api::malloc_trim(keep_bytes);
}
TALUS_NAME struct mallinfo mallinfo(void) noexcept { return talus::api::mallinfo(); }
TALUS_NAME struct mallinfo2 mallinfo2(void) noexcept { return talus::api::mallinfo2(); }
TALUS_NAME int malloc_info(int asked, FILE* stream) noexcept {
  return talus::api::malloc_info(asked, stream);
}
TALUS_NAME int mallopt(int parameter, int value) noexcept {
  return talus::api::mallopt(parameter, value);
}
TALUS_NAME void malloc_stats(void) noexcept { talus::api::malloc_stats(); }

// Names by which parts of C libraries and old programs reach the allocator directly.
TALUS_NAME void* __libc_malloc(size_t bytes) noexcept { return talus::api::malloc(bytes); }
TALUS_NAME void __libc_free(void* pointer) noexcept { talus::api::free(pointer); }
TALUS_NAME void __libc_cfree(void* pointer) noexcept { talus::api::free(pointer); }
TALUS_NAME void* __libc_calloc(size_t count, size_t bytes) noexcept {
  return talus::api::calloc(count, bytes);
}
TALUS_NAME void* __libc_realloc(void* pointer, size_t bytes) noexcept {
  return talus::api::realloc_by_call(pointer, bytes);
}
TALUS_NAME void* __libc_reallocarray(void* pointer, size_t count, size_t bytes) noexcept {
  return talus::api::reallocarray(pointer, count, bytes);
}
TALUS_NAME void* __libc_memalign(size_t alignment, size_t bytes) noexcept {
  return talus::api::memalign(alignment, bytes);
}
TALUS_NAME void* __libc_valloc(size_t bytes) noexcept { return talus::api::valloc(bytes); }
TALUS_NAME void* __libc_pvalloc(size_t bytes) noexcept { return talus::api::pvalloc(bytes); }
TALUS_NAME int __posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  return talus::api::posix_memalign(result, alignment, bytes);
}
