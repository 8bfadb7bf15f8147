// SPDX-License-Identifier: MIT
// new_delete.hpp: operator new and delete of a whole program on Talus.
//
// With the library preloaded or linked, the operators are Talus' already, and no program needs this
// file. It is for programs that have Talus by the header alone. Include it in exactly one unit. All
// 20 forms of ISO C++17 are replaced, those of libraries that the program loads too, where the
// program exports its symbols (-rdynamic). A new handler is called as the standard says; a nothrow
// form returns null where the handler throws.
//
// Owns: which function serves which form. Source: ISO C++17 [new.delete].
#ifndef TALUS_NEW_DELETE_HPP
#define TALUS_NEW_DELETE_HPP

#include <cstddef>
#include <new>

#include "talus/talus.hpp"

namespace talus::detail {

inline void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
#if defined(__cpp_exceptions)
  try {
    return allocate_or_throw(bytes, alignment);
  } catch (...) {
    return nullptr;
  }
#else
  return alignment <= default_alignment ? talus_malloc(bytes)
                                        : talus_aligned_alloc(alignment, bytes);
#endif
}

}  // namespace talus::detail

#pragma GCC visibility push(default)

// NOLINTBEGIN(misc-definitions-in-headers): one unit includes this, and they must not be inline.
void* operator new(std::size_t bytes) {
  return talus::detail::allocate_or_throw(bytes, talus::detail::default_alignment);
}
void* operator new[](std::size_t bytes) {
  return talus::detail::allocate_or_throw(bytes, talus::detail::default_alignment);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return talus::detail::allocate_or_null(bytes, talus::detail::default_alignment);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return talus::detail::allocate_or_null(bytes, talus::detail::default_alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return talus::detail::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return talus::detail::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return talus::detail::allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return talus::detail::allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* pointer) noexcept { talus_free(pointer); }
void operator delete[](void* pointer) noexcept { talus_free(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { talus_free(pointer); }
void operator delete[](void* pointer, const std::nothrow_t&) noexcept { talus_free(pointer); }
void operator delete(void* pointer, std::size_t bytes) noexcept {
  talus_free_sized(pointer, bytes);
}
void operator delete[](void* pointer, std::size_t bytes) noexcept {
  talus_free_sized(pointer, bytes);
}
void operator delete(void* pointer, std::align_val_t) noexcept { talus_free(pointer); }
void operator delete[](void* pointer, std::align_val_t) noexcept { talus_free(pointer); }
void operator delete(void* pointer, std::align_val_t, const std::nothrow_t&) noexcept {
  talus_free(pointer);
}
void operator delete[](void* pointer, std::align_val_t, const std::nothrow_t&) noexcept {
  talus_free(pointer);
}
void operator delete(void* pointer, std::size_t bytes, std::align_val_t alignment) noexcept {
  talus_free_aligned_sized(pointer, static_cast<std::size_t>(alignment), bytes);
}
void operator delete[](void* pointer, std::size_t bytes, std::align_val_t alignment) noexcept {
  talus_free_aligned_sized(pointer, static_cast<std::size_t>(alignment), bytes);
}
// NOLINTEND(misc-definitions-in-headers)

#pragma GCC visibility pop

#endif  // TALUS_NEW_DELETE_HPP
