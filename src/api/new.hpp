// SPDX-License-Identifier: MIT
// api/new: operator new and delete, without a C++ runtime of Talus' own.
//
// Two weak names link to the program's C++ runtime, if it has one. If a plugin brought a runtime,
// these functions look for it when memory is exhausted. The last place is the plugin itself, which
// may be linked with a whole runtime. A program without a runtime cannot call operator new.
//
// Owns: the loop of the new handler, and what happens when it gives up. Invariant: new never
// returns null (nothrow new: entry/new.cpp). Called on: any thread. These functions let exceptions
// pass: they are compiled with unwind tables and are not noexcept. Source: ISO C++17 [new.delete].
#ifndef TALUS_API_NEW_HPP
#define TALUS_API_NEW_HPP

#include <new>

#include "base/base.hpp"
#include "os/report.hpp"
#include "os/text.hpp"
#include "heap/context.hpp"
#include "heap/heap_tool.hpp"
#include "heap/modes.hpp"
#include "paths/alloc.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/free.hpp"
#include "api/entry.hpp"

// From libstdc++ and libc++abi: the program's new handler, and a function that throws bad_alloc.
extern "C" {
[[gnu::weak]] std::new_handler _ZSt15get_new_handlerv() noexcept;
[[noreturn, gnu::weak]] void _ZSt17__throw_bad_allocv();
[[gnu::weak]] void* dlopen(const char* name, int flags) noexcept;
[[gnu::weak]] void* dlsym(void* handle, const char* name) noexcept;
[[gnu::weak]] int dlclose(void* handle) noexcept;
// What the loader knows of an address; 0: no object contains it.
struct DescribedAddress {
  const char* file;
  const void* object;
  const char* name;
  const void* start;
};
[[gnu::weak]] int dladdr(const void* address, DescribedAddress* description) noexcept;
}

namespace talus::core::api {

constexpr int lazy_if_loaded = 1 | 4;  // RTLD_LAZY | RTLD_NOLOAD

// Finds a function of the C++ runtime that a plugin loaded into a C program after Talus was linked.
// Called only when memory is exhausted, never at start.
TALUS_COLD void* find_in_runtime(const char* name) noexcept {
  if (&dlopen == nullptr || &dlsym == nullptr) return nullptr;
  constexpr const char* libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
  for (const char* library : libraries) {
    void* handle = dlopen(library, lazy_if_loaded);
    if (void* found = handle == nullptr ? nullptr : dlsym(handle, name)) return found;
  }
  return nullptr;
}

// Null: no object.
TALUS_COLD const void* object_of(const void* address, const char** file) noexcept {
  DescribedAddress description{};
  if (dladdr(address, &description) == 0) return nullptr;
  *file = description.file;
  return description.object;
}

// Finds the calling object's own form of new, with the handler and the exceptions of its runtime.
// Null: the object has none, or it has this one.
TALUS_COLD void* find_in_caller(const void* caller, const char* name) noexcept {
  if (&dlopen == nullptr || &dlsym == nullptr || &dlclose == nullptr || &dladdr == nullptr) {
    return nullptr;
  }
  const char *file = nullptr, *other = nullptr;
  const void* object = object_of(caller, &file);
  const void* const own = object_of(reinterpret_cast<const void*>(&object_of), &other);
  if (object == nullptr || object == own) return nullptr;
  void* const handle = dlopen(file, lazy_if_loaded);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, name);  // may also find one in its dependencies
  dlclose(handle);
  return found != nullptr && object_of(found, &other) == object ? found : nullptr;
}

// Calls the new handler once. False: none is set.
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

// The handler has given up, or was not found.
TALUS_COLD void* throw_or_ask_caller(size_t alignment, size_t bytes, const void* caller) {
  using Throw = void (*)();
  Throw throw_it = &_ZSt17__throw_bad_allocv;
  if (throw_it == nullptr) {
    throw_it = reinterpret_cast<Throw>(find_in_runtime("_ZSt17__throw_bad_allocv"));
  }
  if (throw_it != nullptr) throw_it();
  if (alignment <= block_alignment) {
    using New = void* (*)(size_t);
    if (void* found = find_in_caller(caller, "_Znwm")) return reinterpret_cast<New>(found)(bytes);
  } else {
    using New = void* (*)(size_t, std::align_val_t);
    void* found = find_in_caller(caller, "_ZnwmSt11align_val_t");
    if (found != nullptr) return reinterpret_cast<New>(found)(bytes, std::align_val_t{alignment});
  }
  Text text;
  text.put("talus: out of memory in operator new, in a program without a C++ runtime\n");
  report::stop(text);
}

// Tries until it has memory or the handler gives up.
TALUS_COLD void* new_slow(size_t alignment, size_t bytes, const void* caller) {
  for (;;) {
    void* block =
        alignment <= block_alignment ? api::malloc(bytes) : api::allocate_at(alignment, bytes);
    if (block != nullptr) return block;
    if (!call_new_handler()) return throw_or_ask_caller(alignment, bytes, caller);
  }
}

// Slow ways whose block is C++'s. Null: there is no memory. A context that leads to slow paths may
// have modes, which are told whose block it is. Or a heap tool makes the block.
template <CallKind kind>
TALUS_APART void* allocate_led(size_t bytes, ThreadContext& context) noexcept {
  if (const HeapToolCalls* tool = heap_tool()) return tool->allocate(bytes);
  void* block = allocate_slow(bytes, context);
  note_kind(block, kind);
  return block;
}
template <CallKind kind>
TALUS_APART void* allocate_at_led(size_t alignment, size_t bytes) noexcept {
  if (const HeapToolCalls* tool = heap_tool()) return tool->allocate_at(alignment, bytes);
  void* block = api::allocate_at_slow(alignment, bytes);
  note_kind(block, kind);
  return block;
}
TALUS_FAST bool is_led(const ThreadContext& context) noexcept {
  return TALUS_UNLIKELY(context.operations != nullptr || malloc_name.has_changed());
}
template <CallKind kind>
TALUS_FAST void* allocate_as(size_t bytes, ThreadContext& context) noexcept {
  return is_led(context) ? allocate_led<kind>(bytes, context) : allocate_slow(bytes, context);
}
template <CallKind kind>
TALUS_APART void* allocate_slow_of(size_t bytes, ThreadContext& context) noexcept {
  return allocate_as<kind>(bytes, context);
}
template <CallKind kind>
TALUS_APART void* allocate_at_slow_of(size_t alignment, size_t bytes) noexcept {
  if (is_led(current_context())) return allocate_at_led<kind>(alignment, bytes);
  return api::allocate_at_slow(alignment, bytes);
}

// The fast path jumps here and to the aligned one, so the return address is in the caller of new.
template <CallKind kind>
TALUS_NEXT void* allocate_slow_or_throw(size_t bytes, ThreadContext& context) {
  void* block = allocate_as<kind>(bytes, context);
  if (TALUS_LIKELY(block != nullptr)) return block;
  return new_slow(block_alignment, bytes, __builtin_return_address(0));
}

template <CallKind kind>
TALUS_FAST void* new_block(size_t bytes) {
  return allocate_or<allocate_slow_or_throw<kind>>(bytes);
}

template <CallKind kind>
TALUS_SLOW void* new_aligned_slow(size_t alignment, size_t bytes) {
  void* block = allocate_at_slow_of<kind>(alignment, bytes);
  if (TALUS_LIKELY(block != nullptr)) return block;
  return new_slow(alignment, bytes, __builtin_return_address(0));
}

template <CallKind kind>
TALUS_FAST void* new_aligned(size_t bytes, std::align_val_t alignment) {
  const size_t wanted = static_cast<size_t>(alignment);
  void* block = pop_aligned(wanted, bytes);
  return TALUS_LIKELY(block != nullptr) ? block : new_aligned_slow<kind>(wanted, bytes);
}

template <CallKind kind>
TALUS_FAST void delete_block(void* pointer, size_t bytes = FreeCall::no_size) noexcept {
  free_block(pointer, FreeCall{kind, bytes});
}

}  // namespace talus::core::api

#endif  // TALUS_API_NEW_HPP
