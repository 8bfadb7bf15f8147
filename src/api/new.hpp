// SPDX-License-Identifier: MIT
// api/new: operator new and delete, without a C++ runtime of our own.
//
// Owns: the loop of the new handler and what happens when it gives up. The C++ runtime of the
// program, if it has one, is met through two weak names; a program without one cannot call
// operator new. Invariant: new never returns null (nothrow new: door/new.cpp). Called on: any
// thread.
// These functions let exceptions pass: they are compiled with unwind tables and are not noexcept.
// Source: ISO C++17 [new.delete].
#ifndef TALUS_API_NEW_HPP
#define TALUS_API_NEW_HPP

#include <new>

#include "api/entry.hpp"

// Of libstdc++ and libc++abi: the program's new handler, and a function that throws bad_alloc.
extern "C" {
[[gnu::weak]] std::new_handler _ZSt15get_new_handlerv() noexcept;
[[noreturn, gnu::weak]] void _ZSt17__throw_bad_allocv();
[[gnu::weak]] void* dlopen(const char* name, int flags) noexcept;
[[gnu::weak]] void* dlsym(void* handle, const char* name) noexcept;
}

namespace talus::api {

// Finds a function of the C++ runtime that a plugin brought into a C program after we were linked.
// Only reached when memory is exhausted, never while starting.
TALUS_COLD void* find_in_runtime(const char* name) noexcept {
  if (&dlopen == nullptr || &dlsym == nullptr) return nullptr;
  constexpr int lazy_if_loaded = 1 | 4;  // RTLD_LAZY | RTLD_NOLOAD
  constexpr const char* libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
  for (const char* library : libraries) {
    void* handle = dlopen(library, lazy_if_loaded);
    if (void* found = handle == nullptr ? nullptr : dlsym(handle, name)) return found;
  }
  return nullptr;
}

// Calls the new handler once. False: there is none.
TALUS_COLD bool call_new_handler() {
  using GetHandler = std::new_handler (*)();
  GetHandler get_handler = &_ZSt15get_new_handlerv;
  if (get_handler == nullptr) {
    get_handler = reinterpret_cast<GetHandler>(find_in_runtime("_ZSt15get_new_handlerv"));
  }
  const std::new_handler handler = get_handler == nullptr ? nullptr : get_handler();
  if (handler == nullptr) return false;
  handler();
  return true;
}

[[noreturn]] TALUS_COLD void throw_bad_alloc() {
  using Throw = void (*)();
  Throw throw_it = &_ZSt17__throw_bad_allocv;
  if (throw_it == nullptr) {
    throw_it = reinterpret_cast<Throw>(find_in_runtime("_ZSt17__throw_bad_allocv"));
  }
  if (throw_it != nullptr) throw_it();
  Text text;
  text.put("talus: out of memory in operator new, in a program without a C++ runtime\n");
  report::stop(text);
}

// Tries until there is memory or the handler gives up. `alignment` is at least block_alignment.
TALUS_COLD void* new_slow(size_t alignment, size_t bytes) {
  for (;;) {
    void* block =
        alignment <= block_alignment ? api::malloc(bytes) : api::allocate_at(alignment, bytes);
    if (block != nullptr) return block;
    if (!call_new_handler()) throw_bad_alloc();
  }
}

TALUS_NEXT void* allocate_slow_or_throw(size_t bytes, HeapFace& face) {
  void* block = allocate_slow(bytes, face);
  return TALUS_LIKELY(block != nullptr) ? block : new_slow(block_alignment, bytes);
}

TALUS_FAST void* new_block(size_t bytes) { return allocate_or<allocate_slow_or_throw>(bytes); }

TALUS_SLOW void* new_aligned_slow(size_t alignment, size_t bytes) {
  void* block = api::allocate_at_slow(alignment, bytes);
  return TALUS_LIKELY(block != nullptr) ? block : new_slow(alignment, bytes);
}

TALUS_FAST void* new_aligned(size_t bytes, std::align_val_t alignment) {
  const size_t wanted = static_cast<size_t>(alignment);
  void* block = pop_aligned(wanted, bytes);
  return TALUS_LIKELY(block != nullptr) ? block : new_aligned_slow(wanted, bytes);
}

}  // namespace talus::api

#endif  // TALUS_API_NEW_HPP
