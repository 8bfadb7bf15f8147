// SPDX-License-Identifier: MIT
// entry/new: the 20 forms of operator new and delete.
//
// Only this file is compiled with exceptions. It names the runtime that it then needs weakly, so a
// C program neither needs nor loads it: without a C++ runtime nothing can throw.
//
// Owns: their names; in nothrow new, catching what a new handler throws; and which form calls which
// when a program replaces some. Source: ISO C++17 [new.delete].
#include "base/base.hpp"
#include "heap/modes.hpp"
#include "paths/alloc.hpp"
#include "api/entry.hpp"
#include "api/new.hpp"  // IWYU pragma: keep (bodies of templates and macros)
#include "entry/bindings.hpp"
#include "entry/life.hpp"  // IWYU pragma: keep (start and end of the process)

asm(".weak __gxx_personality_v0\n"
    ".weak __cxa_begin_catch\n"
    ".weak __cxa_end_catch\n"
    ".weak __cxa_call_terminate\n"
    ".weak _Unwind_Resume\n"
    ".weak _ZSt9terminatev\n"
    ".weak __clang_call_terminate\n");
extern "C" [[gnu::weak]] unsigned __gxx_personality_v0(int, int, unsigned long long, void*, void*);

using talus::core::CallKind;
using talus::core::operator_bindings;
using Alignment = std::align_val_t;

// Talus' own functions, whatever their names are bound to.
#define TALUS_OWN(name) TALUS_HIDDEN __attribute__((hot, alias(#name)))
#define TALUS_OWN_NEW(name) [[gnu::malloc, gnu::alloc_size(1)]] TALUS_OWN(name)
extern "C" {
TALUS_OWN_NEW(_Znwm) void* talus_own_new(size_t);
TALUS_OWN_NEW(_Znam) void* talus_own_new_array(size_t);
TALUS_OWN_NEW(_ZnwmSt11align_val_t) void* talus_own_new_aligned(size_t, Alignment);
TALUS_OWN_NEW(_ZnamSt11align_val_t) void* talus_own_new_aligned_array(size_t, Alignment);
TALUS_OWN(_ZdlPv) void talus_own_delete(void*) noexcept;
TALUS_OWN(_ZdaPv) void talus_own_delete_array(void*) noexcept;
TALUS_OWN(_ZdlPvm) void talus_own_delete_sized(void*, size_t) noexcept;
TALUS_OWN(_ZdaPvm) void talus_own_delete_sized_array(void*, size_t) noexcept;
TALUS_OWN(_ZdlPvSt11align_val_t) void talus_own_delete_aligned(void*, Alignment) noexcept;
TALUS_OWN(_ZdaPvSt11align_val_t) void talus_own_delete_aligned_array(void*, Alignment) noexcept;
TALUS_OWN(_ZdaPvSt11align_val_tRKSt9nothrow_t)
void talus_own_delete_last(void*, Alignment, const std::nothrow_t&) noexcept;
}

namespace {

// The state of the forms on which others are built. Talus defines all of them, or another object
// defines some.
constexpr uint8_t forms_unknown = 0, forms_ours = 1, forms_replaced = 2;
talus::core::Atomic<uint8_t> shared_forms;

TALUS_COLD uint8_t look_at_forms() noexcept {
  const talus::core::OperatorBindings& bound = operator_bindings;
  const bool is_late = bound.delete_last != &talus_own_delete_last;
  const bool are_ours =
      bound.new_one == &talus_own_new && bound.new_array == &talus_own_new_array &&
      bound.new_aligned == &talus_own_new_aligned &&
      bound.new_aligned_array == &talus_own_new_aligned_array &&
      bound.delete_one == &talus_own_delete && bound.delete_array == &talus_own_delete_array &&
      bound.delete_aligned == &talus_own_delete_aligned &&
      bound.delete_aligned_array == &talus_own_delete_aligned_array;
  const uint8_t forms = is_late || are_ours ? forms_ours : forms_replaced;
  shared_forms.store_init(forms);  // all threads find the same
  return forms;
}
TALUS_FAST bool are_forms_ours() noexcept {
  return TALUS_LIKELY(shared_forms.load_init() == forms_ours);
}

// A runtime that a plugin loaded into a C program after Talus does not know this `catch`. The
// runtime's own form has one, and is built on Talus' new. Null: no runtime was found, so no handler
// exists either.
TALUS_COLD void* nothrow_in_runtime(size_t alignment, size_t bytes, const void* caller) noexcept {
  const bool is_plain = alignment <= talus::core::block_alignment;
  const char* name = is_plain ? "_ZnwmRKSt9nothrow_t" : "_ZnwmSt11align_val_tRKSt9nothrow_t";
  void* found = talus::core::api::find_in_runtime(name);
  if (found == nullptr) found = talus::core::api::find_in_caller(caller, name);
  if (found == nullptr) return nullptr;
  const std::nothrow_t nothrow{};
  using New = void* (*)(size_t, const std::nothrow_t&) noexcept;
  using NewAligned = void* (*)(size_t, Alignment, const std::nothrow_t&) noexcept;
  return is_plain ? reinterpret_cast<New>(found)(bytes, nothrow)
                  : reinterpret_cast<NewAligned>(found)(bytes, Alignment{alignment}, nothrow);
}

// A new handler that throws ends the attempt with null, as the standard says for nothrow new.
void* nothrow_slow(size_t alignment, size_t bytes, const void* caller) noexcept {
  if (&__gxx_personality_v0 == nullptr) return nothrow_in_runtime(alignment, bytes, caller);
  try {
    for (;;) {
      void* block = alignment <= talus::core::block_alignment
                        ? talus::core::api::malloc(bytes)
                        : talus::core::api::allocate_at(alignment, bytes);
      if (block != nullptr || !talus::core::api::call_new_handler()) return block;
    }
  } catch (...) {
    return nullptr;
  }
}

template <CallKind kind>
void* nothrow_new(size_t bytes) noexcept {
  void* block = talus::core::allocate_or<talus::core::api::allocate_slow_of<kind>>(bytes);
  if (TALUS_LIKELY(block != nullptr)) return block;
  return nothrow_slow(talus::core::block_alignment, bytes, __builtin_return_address(0));
}

template <CallKind kind>
void* nothrow_new(size_t bytes, Alignment alignment) noexcept {
  const size_t wanted = static_cast<size_t>(alignment);
  void* block = talus::core::pop_aligned(wanted, bytes);
  if (TALUS_LIKELY(block != nullptr)) return block;
  block = talus::core::api::allocate_at_slow_of<kind>(wanted, bytes);
  if (TALUS_LIKELY(block != nullptr)) return block;
  return nothrow_slow(wanted, bytes, __builtin_return_address(0));
}

// When some forms are replaced, calls go to the bound functions of the forms that others build on.
bool are_forms_replaced() noexcept {
  const uint8_t known = shared_forms.load_init();
  return (known == forms_unknown ? look_at_forms() : known) == forms_replaced;
}
template <typename Function>
Function* chosen(Function* bound, Function* own) noexcept {
  return are_forms_replaced() ? bound : own;
}

// `bound` is the form that this one is built on.
TALUS_APART void* named_new_array(size_t n) {
  return chosen(operator_bindings.new_one, &talus_own_new_array)(n);
}
TALUS_APART void* named_new_array(size_t n, Alignment a) {
  return chosen(operator_bindings.new_aligned, &talus_own_new_aligned_array)(n, a);
}
TALUS_APART void named_delete(void* p) noexcept {
  chosen(operator_bindings.delete_one, &talus_own_delete)(p);
}
TALUS_APART void named_delete(void* p, size_t n) noexcept {
  are_forms_replaced() ? operator_bindings.delete_one(p) : talus_own_delete_sized(p, n);
}
TALUS_APART void named_delete(void* p, Alignment a) noexcept {
  chosen(operator_bindings.delete_aligned, &talus_own_delete_aligned)(p, a);
}
// delete[] is built on delete, and its other forms on delete[].
TALUS_APART void named_delete_array(void* p) noexcept {
  chosen(operator_bindings.delete_one, &talus_own_delete_array)(p);
}
TALUS_APART void named_delete_array(void* p, Alignment a) noexcept {
  chosen(operator_bindings.delete_aligned, &talus_own_delete_aligned_array)(p, a);
}
TALUS_APART void named_delete_array_of(void* p) noexcept {
  chosen(operator_bindings.delete_array, &talus_own_delete_array)(p);
}
TALUS_APART void named_delete_array_of(void* p, size_t n) noexcept {
  are_forms_replaced() ? operator_bindings.delete_array(p) : talus_own_delete_sized_array(p, n);
}
TALUS_APART void named_delete_array_of(void* p, Alignment a) noexcept {
  chosen(operator_bindings.delete_aligned_array, &talus_own_delete_aligned_array)(p, a);
}

// Nothrow new is built on the form that throws.
template <typename... At>
TALUS_APART void* named_nothrow_new(size_t n, At... at) noexcept {
  if (!are_forms_replaced()) return nothrow_new<CallKind::one>(n, at...);
  try {
    if constexpr (sizeof...(At) == 0) return operator_bindings.new_one(n);
    if constexpr (sizeof...(At) != 0) return operator_bindings.new_aligned(n, at...);
  } catch (...) {
    return nullptr;
  }
}
template <typename... At>
TALUS_APART void* named_nothrow_new_array(size_t n, At... at) noexcept {
  if (!are_forms_replaced()) return nothrow_new<CallKind::array>(n, at...);
  try {
    if constexpr (sizeof...(At) == 0) return operator_bindings.new_array(n);
    if constexpr (sizeof...(At) != 0) return operator_bindings.new_aligned_array(n, at...);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

#define TALUS_OPERATOR TALUS_EXPORT TALUS_USUAL_ENTRY

// The forms on which others are built, and which a program may replace.
TALUS_OPERATOR void* operator new(size_t n) {
  return talus::core::api::new_block<CallKind::one>(n);
}
TALUS_OPERATOR void* operator new(size_t n, Alignment a) {
  return talus::core::api::new_aligned<CallKind::one>(n, a);
}
TALUS_OPERATOR void operator delete(void* p) noexcept {
  talus::core::api::delete_block<CallKind::one>(p);
}
TALUS_OPERATOR void operator delete(void* p, Alignment) noexcept {
  talus::core::api::delete_block<CallKind::one>(p);
}

// The other forms.
TALUS_OPERATOR void* operator new[](size_t n) {
  return are_forms_ours() ? talus::core::api::new_block<CallKind::array>(n) : named_new_array(n);
}
TALUS_OPERATOR void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return are_forms_ours() ? nothrow_new<CallKind::one>(n) : named_nothrow_new(n);
}
TALUS_OPERATOR void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return are_forms_ours() ? nothrow_new<CallKind::array>(n) : named_nothrow_new_array(n);
}
TALUS_OPERATOR void* operator new[](size_t n, Alignment a) {
  return are_forms_ours() ? talus::core::api::new_aligned<CallKind::array>(n, a)
                          : named_new_array(n, a);
}
TALUS_OPERATOR void* operator new(size_t n, Alignment a, const std::nothrow_t&) noexcept {
  return are_forms_ours() ? nothrow_new<CallKind::one>(n, a) : named_nothrow_new(n, a);
}
TALUS_OPERATOR void* operator new[](size_t n, Alignment a, const std::nothrow_t&) noexcept {
  return are_forms_ours() ? nothrow_new<CallKind::array>(n, a) : named_nothrow_new_array(n, a);
}

TALUS_OPERATOR void operator delete[](void* p) noexcept {
  are_forms_ours() ? talus::core::api::delete_block<CallKind::array>(p) : named_delete_array(p);
}
// Called where a constructor throws.
TALUS_OPERATOR void operator delete(void* p, const std::nothrow_t&) noexcept {
  are_forms_ours() ? talus_own_delete(p) : named_delete(p);
}
TALUS_OPERATOR void operator delete[](void* p, const std::nothrow_t&) noexcept {
  are_forms_ours() ? talus_own_delete_array(p) : named_delete_array_of(p);
}
TALUS_OPERATOR void operator delete(void* p, size_t n) noexcept {
  are_forms_ours() ? talus::core::api::delete_block<CallKind::one>(p, n) : named_delete(p, n);
}
TALUS_OPERATOR void operator delete[](void* p, size_t n) noexcept {
  are_forms_ours() ? talus::core::api::delete_block<CallKind::array>(p, n)
                   : named_delete_array_of(p, n);
}
TALUS_OPERATOR void operator delete[](void* p, Alignment a) noexcept {
  are_forms_ours() ? talus::core::api::delete_block<CallKind::array>(p) : named_delete_array(p, a);
}
TALUS_OPERATOR void operator delete(void* p, size_t, Alignment a) noexcept {
  are_forms_ours() ? talus::core::api::delete_block<CallKind::one>(p) : named_delete(p, a);
}
TALUS_OPERATOR void operator delete[](void* p, size_t, Alignment a) noexcept {
  are_forms_ours() ? talus::core::api::delete_block<CallKind::array>(p)
                   : named_delete_array_of(p, a);
}
TALUS_OPERATOR void operator delete(void* p, Alignment a, const std::nothrow_t&) noexcept {
  are_forms_ours() ? talus_own_delete_aligned(p, a) : named_delete(p, a);
}
TALUS_OPERATOR void operator delete[](void* p, Alignment a, const std::nothrow_t&) noexcept {
  are_forms_ours() ? talus_own_delete_aligned_array(p, a) : named_delete_array_of(p, a);
}
