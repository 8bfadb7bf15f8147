// SPDX-License-Identifier: MIT
// talus.hpp: the C++ types of Talus.
//
// They are an allocator for containers, a memory resource, unique pointers, and allocation of a
// size known to the compiler. All types use the heap of Talus and have no state. So any of them, or
// talus_free, may free what another allocated. Without memory they call the program's new handler,
// like operator new, and then throw std::bad_alloc. Compiled without exceptions, std::abort ends
// the program. Any thread may call all functions, before main and after it. Works in C++17 and
// later, also without RTTI and exceptions. With TALUS_HEADER_ONLY defined, in the one header that
// the build makes, no library is linked.
//
// Owns: nothing but the mapping of C++'s contracts to talus.h.
#ifndef TALUS_TALUS_HPP
#define TALUS_TALUS_HPP

#if defined(TALUS_HEADER_ONLY) && !defined(TALUS_ONE_HEADER)
#error "the header-only talus.hpp is made by the build, and installed: include that one"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

#include "talus/talus.h"

namespace talus {

// ---- for the types below; not for users

namespace detail {

[[noreturn]] inline void throw_bad_alloc() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc{};
#else
  std::abort();
#endif
}

// No memory: the new handler may find some. Returns if the caller should try again.
inline void call_new_handler_or_throw() {
  if (const std::new_handler handler = std::get_new_handler()) return handler();
  throw_bad_alloc();
}

[[noreturn]] inline void throw_bad_array_length() {
#if defined(__cpp_exceptions)
  throw std::bad_array_new_length{};
#else
  std::abort();
#endif
}

inline constexpr std::size_t default_alignment = 16;

// A block of at least `bytes` bytes at a multiple of `alignment`, with its usable size.
inline talus_block block_or_throw(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    const talus_block block = talus_aligned_allocate_at_least(alignment, bytes);
    if (block.pointer != nullptr) return block;
    call_new_handler_or_throw();
  }
}

// The same, without the usable size.
inline void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* block = alignment <= default_alignment ? talus_malloc(bytes)
                                                 : talus_aligned_alloc(alignment, bytes);
    if (block != nullptr) return block;
    call_new_handler_or_throw();
  }
}

}  // namespace detail

// ---- malloc and its family, by their usual names

// talus_malloc, talus_calloc, talus_realloc and talus_free. A call with the namespace in front,
// talus::malloc(100), names this allocator. They are templates, so that malloc(100) after
// `using namespace talus` is still the C library's.
template <typename = void>
[[nodiscard]] inline void* malloc(std::size_t bytes) noexcept {
  return talus_malloc(bytes);
}
template <typename = void>
[[nodiscard]] inline void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return talus_calloc(count, bytes);
}
template <typename = void>
[[nodiscard]] inline void* realloc(void* pointer, std::size_t bytes) noexcept {
  return talus_realloc(pointer, bytes);
}
template <typename = void>
inline void free(void* pointer) noexcept {
  talus_free(pointer);
}

// ---- allocation of a constant size

// A block of Bytes bytes, for talus_free. Header-only, the size class is a constant and the call is
// a few inline instructions. With the library it is a call of talus_malloc.
template <std::size_t Bytes>
[[nodiscard]] inline void* allocate() {
#if defined(TALUS_HEADER_ONLY)
  void* block = core::api::malloc(Bytes);
#else
  void* block = talus_malloc(Bytes);
#endif
  return __builtin_expect(block != nullptr, 1)
             ? block
             : detail::allocate_or_throw(Bytes, detail::default_alignment);
}

// ---- containers

// The result of allocate_at_least: the standard's type where it exists.
#if defined(__cpp_lib_allocate_at_least)
template <typename Pointer>
using allocation_result = std::allocation_result<Pointer>;  // libc++ 15 and 16 know no more
#else
template <typename Pointer>
struct allocation_result {
  Pointer ptr;
  std::size_t count;
};
#endif

// An allocator for containers: std::vector<int, talus::allocator<int>>. All are equal.
template <typename T>
class allocator {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  constexpr allocator(const allocator&) noexcept = default;
  constexpr allocator& operator=(const allocator&) noexcept = default;
  template <typename U>
  constexpr allocator(const allocator<U>&) noexcept {}  // NOLINT: conversion is the contract

  // Room for `count` objects. More than PTRDIFF_MAX bytes: std::bad_array_new_length.
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(detail::allocate_or_throw(bytes_of(count), alignof(T)));
  }
  // Like allocate, and tells how many objects fit.
  [[nodiscard]] allocation_result<T*> allocate_at_least(std::size_t count) {
    const talus_block block = detail::block_or_throw(bytes_of(count), alignof(T));
    return {static_cast<T*>(block.pointer), block.bytes / sizeof(T)};
  }
  // `count` is the one given to allocate, or any up to the count from allocate_at_least.
  void deallocate(T* pointer, std::size_t count) noexcept {
    talus_free_sized(pointer, count * sizeof(T));
  }

 private:
  static std::size_t bytes_of(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) detail::throw_bad_array_length();
    return count * sizeof(T);
  }
};

template <typename T, typename U>
constexpr bool operator==(const allocator<T>&, const allocator<U>&) noexcept {
  return true;
}
template <typename T, typename U>
constexpr bool operator!=(const allocator<T>&, const allocator<U>&) noexcept {
  return false;
}

// ---- polymorphic memory, where the standard library has it (libc++ since 16)

#if __has_include(<memory_resource>)

// One address for each heap: in the library, whatever other objects hide, or in the header-only
// copy of a shared object.
#if defined(TALUS_HEADER_ONLY)
namespace detail {
inline char heap_identity = 0;
inline const void* this_heap() noexcept { return &heap_identity; }
}  // namespace detail
#define TALUS_RESOURCE memory_resource
#else
namespace detail {
inline const void* this_heap() noexcept { return reinterpret_cast<const void*>(&talus_malloc); }
}  // namespace detail
#define TALUS_RESOURCE [[gnu::visibility("default")]] memory_resource  // one type for all objects
#endif

// The heap of Talus as a std::pmr::memory_resource; upstream of a pool, or used directly.
class TALUS_RESOURCE final : public std::pmr::memory_resource {
 public:
  memory_resource() noexcept = default;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return detail::allocate_or_throw(bytes, alignment);
  }
  void do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) override {
    talus_free_aligned_sized(pointer, alignment, bytes);
  }
  // All resources over one heap are equal. Without RTTI only a resource and itself.
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    if (this == &other) return true;
#if defined(__cpp_rtti)
    const auto* same = dynamic_cast<const memory_resource*>(&other);
    return same != nullptr && same->heap_ == heap_;
#else
    return false;
#endif
  }

  [[maybe_unused]] const void* heap_ = detail::this_heap();
};
#undef TALUS_RESOURCE

// Lives as long as the process, for std::pmr::set_default_resource and containers.
inline memory_resource* default_resource() noexcept {
  alignas(memory_resource) static unsigned char storage[sizeof(memory_resource)];
  static memory_resource* const resource = ::new (storage) memory_resource;
  return resource;
}

#endif  // memory_resource

// ---- unique pointers

// Destroys an object in a block of Talus and frees the block. deleter<void> frees raw memory.
template <typename T = void>
struct deleter {
  constexpr deleter() noexcept = default;
  // Converts to a base class only if its destructor is virtual: then it can find the block's start.
  template <typename U,
            typename = std::enable_if_t<std::is_convertible_v<U*, T*> &&
                                        (std::has_virtual_destructor_v<T> ||
                                         std::is_same_v<std::remove_cv_t<T>, std::remove_cv_t<U>>)>>
  constexpr deleter(const deleter<U>&) noexcept {}  // NOLINT: conversion is the contract

  void operator()(T* pointer) const noexcept {
    static_assert(sizeof(T) > 0, "the type must be complete");
    void* block = block_of(pointer);
    pointer->~T();
    talus_free(block);
  }

 private:
  static void* block_of(T* pointer) noexcept {
    if constexpr (std::is_polymorphic_v<T>) {
      return const_cast<void*>(dynamic_cast<const volatile void*>(pointer));
    } else {
      return const_cast<void*>(static_cast<const volatile void*>(pointer));
    }
  }
};

template <>
struct deleter<void> {
  void operator()(void* pointer) const noexcept { talus_free(pointer); }
};

// Destroys the elements last to first; it knows their number.
template <typename T>
struct deleter<T[]> {
  std::size_t count = 0;

  void operator()(T* first) const noexcept {
    for (std::size_t left = count; left > 0; left--) first[left - 1].~T();
    talus_free(const_cast<std::remove_cv_t<T>*>(first));
  }
};

template <typename T>
using unique_ptr = std::unique_ptr<T, deleter<T>>;

// Frees its memory if a constructor in it throws.
using raw_block = std::unique_ptr<void, deleter<void>>;

// A T in a block of Talus, made from the arguments.
template <typename T, typename... Arguments>
[[nodiscard]] std::enable_if_t<!std::is_array_v<T>, unique_ptr<T>> make_unique(
    Arguments&&... arguments) {
  raw_block block{detail::allocate_or_throw(sizeof(T), alignof(T))};
  T* made = ::new (block.get()) T(std::forward<Arguments>(arguments)...);
  block.release();
  return unique_ptr<T>{made};
}

// An array of `count` value-initialised elements: make_unique<T[]>(count).
template <typename T>
[[nodiscard]] std::enable_if_t<std::is_array_v<T> && std::extent_v<T> == 0, unique_ptr<T>>
make_unique(std::size_t count) {
  using Element = std::remove_extent_t<T>;
  if (count > PTRDIFF_MAX / sizeof(Element)) detail::throw_bad_array_length();
  raw_block block{detail::allocate_or_throw(count * sizeof(Element), alignof(Element))};
  auto* first = static_cast<std::remove_cv_t<Element>*>(block.get());
  std::uninitialized_value_construct_n(first, count);
  block.release();
  return unique_ptr<T>{first, deleter<T>{count}};
}

}  // namespace talus

#endif  // TALUS_TALUS_HPP
