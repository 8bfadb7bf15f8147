// SPDX-License-Identifier: MIT
// entry/libc: the names of the C library's allocator, all of them together.
//
// A process with malloc from Talus and memalign from libc would mix two heaps. So every name that
// glibc, musl, the BSDs and C23 have is here. A program may have an allocator of its own and define
// only some names. Then the other names act on the blocks of that allocator.
//
// Owns: the names. Compiled without built-ins, so that no function becomes a call of itself.
#include "base/base.hpp"
#include "os/bytes.hpp"
#include "api/entry.hpp"
#include "api/libc_extras.hpp"
#include "api/libc_names.hpp"
#include "entry/bindings.hpp"
#include "entry/life.hpp"  // IWYU pragma: keep (start and end of the process)

#define TALUS_NAME extern "C" TALUS_EXPORT
#define TALUS_USUAL_NAME extern "C" TALUS_USUAL_ENTRY TALUS_EXPORT

// Talus' own functions, whatever their names are bound to.
#define TALUS_OWN(name) TALUS_HIDDEN __attribute__((hot, alias(#name)))
#define TALUS_OWN_MALLOC(name, ...) [[gnu::malloc, gnu::alloc_size(__VA_ARGS__)]] TALUS_OWN(name)
extern "C" {
TALUS_OWN_MALLOC(malloc, 1) void* talus_own_malloc(size_t) TALUS_LIBC_NOEXCEPT;
TALUS_OWN_MALLOC(calloc, 1, 2) void* talus_own_calloc(size_t, size_t) TALUS_LIBC_NOEXCEPT;
TALUS_OWN_MALLOC(realloc, 2) void* talus_own_realloc(void*, size_t) TALUS_LIBC_NOEXCEPT;
TALUS_OWN_MALLOC(reallocarray, 2, 3)
void* talus_own_reallocarray(void*, size_t, size_t) TALUS_LIBC_NOEXCEPT;
TALUS_OWN(free) void talus_own_free(void*) TALUS_LIBC_NOEXCEPT;
}

// Set where a linker has taken a name from its own member of the archive (entry/single_name.cpp).
// Null: it has not.
#define TALUS_PLACE(name) [[gnu::weak]] extern TALUS_HIDDEN decltype(name) talus_place_##name;
extern "C" {
TALUS_PLACE(calloc)
TALUS_PLACE(realloc)
TALUS_PLACE(reallocarray)
TALUS_PLACE(free)
}

namespace {

using talus::core::malloc_bindings;

// True when the program defines the function, and calls reach Talus by the names it does not
// define.
template <typename Function>
bool is_replaced(Function* bound, Function* own, Function* place) noexcept {
  auto* const array = malloc_bindings.reallocarray;
  const bool is_array_own = array == &talus_own_reallocarray || array == &talus_place_reallocarray;
  return bound != own && bound != place && is_array_own;
}
bool is_realloc_replaced() noexcept {
  return is_replaced(malloc_bindings.realloc, &talus_own_realloc, &talus_place_realloc);
}
bool is_free_replaced() noexcept {
  return is_replaced(malloc_bindings.free, &talus_own_free, &talus_place_free);
}
bool is_calloc_replaced() noexcept {
  return is_replaced(malloc_bindings.calloc, &talus_own_calloc, &talus_place_calloc);
}

// OpenBSD's algorithm, for an allocator of which nothing else is known.
void* recallocarray_elsewhere(void* pointer, size_t old_count, size_t count,
                              size_t bytes) noexcept {
  size_t old_total = 0, total = 0;
  if (pointer == nullptr) return malloc_bindings.calloc(count, bytes);
  if (__builtin_mul_overflow(count, bytes, &total)) return talus::core::api::out_of_memory();
  if (__builtin_mul_overflow(old_count, bytes, &old_total))
    return talus::core::api::invalid_argument();
  void* fresh = malloc_bindings.calloc(count, bytes);
  if (fresh == nullptr) return nullptr;
  talus::core::copy_bytes(fresh, pointer, old_total < total ? old_total : total);
  talus::core::clear_secret(pointer, old_total);
  malloc_bindings.free(pointer);
  return fresh;
}

}  // namespace

TALUS_USUAL_NAME void* malloc(size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::malloc(bytes);
}
TALUS_USUAL_NAME void free(void* pointer) TALUS_LIBC_NOEXCEPT { talus::core::api::free(pointer); }
TALUS_USUAL_NAME void* calloc(size_t count, size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::calloc(count, bytes);
}
TALUS_USUAL_NAME void* realloc(void* pointer, size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::realloc(pointer, bytes);
}
TALUS_NAME void cfree(void* pointer) noexcept {
  is_free_replaced() ? malloc_bindings.free(pointer) : talus::core::api::free(pointer);
}
TALUS_NAME void* reallocarray(void* pointer, size_t count, size_t bytes) TALUS_LIBC_NOEXCEPT {
  size_t total = 0;
  if (!is_realloc_replaced()) return talus::core::api::reallocarray(pointer, count, bytes);
  if (__builtin_mul_overflow(count, bytes, &total)) return talus::core::api::out_of_memory();
  return malloc_bindings.realloc(pointer, total);
}
TALUS_USUAL_NAME void* aligned_alloc(size_t alignment, size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::aligned_alloc(alignment, bytes);
}
TALUS_NAME void* memalign(size_t alignment, size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::memalign(alignment, bytes);
}
TALUS_USUAL_NAME int posix_memalign(void** result, size_t alignment,
                                    size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::posix_memalign(result, alignment, bytes);
}
TALUS_NAME void* valloc(size_t bytes) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::valloc(bytes);
}
TALUS_NAME void* pvalloc(size_t bytes) noexcept { return talus::core::api::pvalloc(bytes); }
TALUS_USUAL_NAME size_t malloc_usable_size(void* pointer) TALUS_LIBC_NOEXCEPT {
  return talus::core::api::malloc_usable_size(pointer);
}

// C23 and the BSDs.
TALUS_NAME void free_sized(void* pointer, size_t bytes) noexcept {
  is_free_replaced() ? malloc_bindings.free(pointer) : talus::core::api::free_sized(pointer, bytes);
}
TALUS_NAME void free_aligned_sized(void* pointer, size_t alignment, size_t bytes) noexcept {
  if (is_free_replaced()) return malloc_bindings.free(pointer);
  talus::core::api::free_aligned_sized(pointer, alignment, bytes);
}
TALUS_NAME void* reallocf(void* pointer, size_t bytes) noexcept {
  if (!is_realloc_replaced()) return talus::core::api::reallocf(pointer, bytes);
  void* resized = malloc_bindings.realloc(pointer, bytes);
  if (resized == nullptr && bytes != 0) malloc_bindings.free(pointer);
  return resized;
}
TALUS_NAME void* recallocarray(void* pointer, size_t old_count, size_t count,
                               size_t bytes) noexcept {
  return is_free_replaced() || is_calloc_replaced()
             ? recallocarray_elsewhere(pointer, old_count, count, bytes)
             : talus::core::api::recallocarray(pointer, old_count, count, bytes);
}
TALUS_NAME void freezero(void* pointer, size_t bytes) noexcept {
  if (!is_free_replaced()) return talus::core::api::freezero(pointer, bytes);
  if (pointer == nullptr) return;
  talus::core::clear_secret(pointer, bytes);
  malloc_bindings.free(pointer);
}
TALUS_NAME size_t malloc_good_size(size_t bytes) noexcept {
  return talus::core::api::malloc_good_size(bytes);
}
TALUS_NAME size_t malloc_size(const void* pointer) noexcept {
  return talus::core::api::malloc_usable_size(const_cast<void*>(pointer));
}

// glibc's view into the heap.
TALUS_NAME int malloc_trim(size_t keep_bytes) noexcept {
  return talus::core::api::malloc_trim(keep_bytes);
}
TALUS_NAME struct mallinfo mallinfo(void) noexcept { return talus::core::api::mallinfo(); }
TALUS_NAME struct mallinfo2 mallinfo2(void) noexcept { return talus::core::api::mallinfo2(); }
TALUS_NAME int malloc_info(int asked, FILE* stream) noexcept {
  return talus::core::api::malloc_info(asked, stream);
}
TALUS_NAME int mallopt(int parameter, int value) noexcept {
  return talus::core::api::mallopt(parameter, value);
}
TALUS_NAME void malloc_stats(void) noexcept { talus::core::api::malloc_stats(); }

// Names by which parts of C libraries and old programs reach the allocator directly.
TALUS_NAME void* __libc_malloc(size_t bytes) noexcept { return talus::core::api::malloc(bytes); }
TALUS_NAME void __libc_free(void* pointer) noexcept { talus::core::api::free(pointer); }
TALUS_NAME void __libc_cfree(void* pointer) noexcept { talus::core::api::free(pointer); }
TALUS_NAME void* __libc_calloc(size_t count, size_t bytes) noexcept {
  return talus::core::api::calloc(count, bytes);
}
TALUS_NAME void* __libc_realloc(void* pointer, size_t bytes) noexcept {
  return talus::core::api::realloc_by_call(pointer, bytes);
}
TALUS_NAME void* __libc_reallocarray(void* pointer, size_t count, size_t bytes) noexcept {
  return talus::core::api::reallocarray(pointer, count, bytes);
}
TALUS_NAME void* __libc_memalign(size_t alignment, size_t bytes) noexcept {
  return talus::core::api::memalign(alignment, bytes);
}
TALUS_NAME void* __libc_valloc(size_t bytes) noexcept { return talus::core::api::valloc(bytes); }
TALUS_NAME void* __libc_pvalloc(size_t bytes) noexcept { return talus::core::api::pvalloc(bytes); }
TALUS_NAME int __posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  return talus::core::api::posix_memalign(result, alignment, bytes);
}

// The same functions for the archive's members of one name (entry/single_name.cpp). The list is
// TALUS_SINGLE_NAMES of src/CMakeLists.txt.
#if defined(__has_attribute) && __has_attribute(copy)
#define TALUS_ALIAS_OF(name) alias(#name), copy(name)
#else
#define TALUS_ALIAS_OF(name) alias(#name)
#endif
#define TALUS_SINGLE(name) \
  extern "C" TALUS_HIDDEN decltype(name) talus_single_##name __attribute__((TALUS_ALIAS_OF(name)));

TALUS_SINGLE(malloc)
TALUS_SINGLE(free)
TALUS_SINGLE(calloc)
TALUS_SINGLE(realloc)
TALUS_SINGLE(cfree)
TALUS_SINGLE(reallocarray)
TALUS_SINGLE(aligned_alloc)
TALUS_SINGLE(memalign)
TALUS_SINGLE(posix_memalign)
TALUS_SINGLE(valloc)
TALUS_SINGLE(pvalloc)
TALUS_SINGLE(malloc_usable_size)
TALUS_SINGLE(free_sized)
TALUS_SINGLE(free_aligned_sized)
TALUS_SINGLE(reallocf)
TALUS_SINGLE(recallocarray)
TALUS_SINGLE(freezero)
TALUS_SINGLE(malloc_good_size)
TALUS_SINGLE(malloc_size)
TALUS_SINGLE(malloc_trim)
// Written out, because the name alone would give a deprecation warning.
extern "C" TALUS_HIDDEN __attribute__((alias("mallinfo"))) struct mallinfo talus_single_mallinfo(
    void) noexcept;
TALUS_SINGLE(mallinfo2)
TALUS_SINGLE(malloc_info)
TALUS_SINGLE(mallopt)
TALUS_SINGLE(malloc_stats)
