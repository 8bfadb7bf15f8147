// SPDX-License-Identifier: MIT
// door/new: the 20 forms of operator new and delete.
//
// Owns: their names, and the catching of what a new handler throws in nothrow new. This one file
// is compiled with exceptions; the runtime it then needs is named weakly, so a C program neither
// needs nor loads it: without a C++ runtime nothing can be thrown.
#include "api/new.hpp"
#include "door/life.hpp"

asm(".weak __gxx_personality_v0\n"
    ".weak __cxa_begin_catch\n"
    ".weak __cxa_end_catch\n"
    ".weak __cxa_call_terminate\n"
    ".weak _Unwind_Resume\n"
    ".weak _ZSt9terminatev\n"
    ".weak __clang_call_terminate\n");

namespace {

// A new handler that throws ends the attempt with null, as the standard says for nothrow new.
void* nothrow_slow(size_t alignment, size_t bytes) noexcept {
  try {
    for (;;) {
      void* block = alignment <= talus::block_alignment ? talus::api::malloc(bytes)
                                                        : talus::api::allocate_at(alignment, bytes);
      if (block != nullptr || !talus::api::call_new_handler()) return block;
    }
  } catch (...) {
    return nullptr;
  }
}

void* nothrow_new(size_t bytes) noexcept {
  void* block = talus::api::malloc(bytes);
  return TALUS_LIKELY(block != nullptr) ? block : nothrow_slow(talus::block_alignment, bytes);
}

void* nothrow_new(size_t bytes, std::align_val_t alignment) noexcept {
  const size_t wanted = static_cast<size_t>(alignment);
  void* block = talus::pop_aligned(wanted, bytes);
  if (TALUS_LIKELY(block != nullptr)) return block;
  block = talus::api::allocate_at_slow(wanted, bytes);
  return TALUS_LIKELY(block != nullptr) ? block : nothrow_slow(wanted, bytes);
}

}  // namespace

#define TALUS_OPERATOR TALUS_EXPORT TALUS_USUAL_DOOR

TALUS_OPERATOR void* operator new(size_t n) { return talus::api::new_block(n); }
TALUS_OPERATOR void* operator new[](size_t n) { return talus::api::new_block(n); }
TALUS_OPERATOR void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return nothrow_new(n);
}
TALUS_OPERATOR void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return nothrow_new(n);
}
TALUS_OPERATOR void* operator new(size_t n, std::align_val_t a) {
  return talus::api::new_aligned(n, a);
}
TALUS_OPERATOR void* operator new[](size_t n, std::align_val_t a) {
  return talus::api::new_aligned(n, a);
}
TALUS_OPERATOR void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return nothrow_new(n, a);
}
TALUS_OPERATOR void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return nothrow_new(n, a);
}

TALUS_OPERATOR void operator delete(void* p) noexcept { talus::api::free(p); }
TALUS_OPERATOR void operator delete[](void* p) noexcept { talus::api::free(p); }
TALUS_OPERATOR void operator delete(void* p, const std::nothrow_t&) noexcept {
  talus::api::free(p);
}
TALUS_OPERATOR void operator delete[](void* p, const std::nothrow_t&) noexcept {
  talus::api::free(p);
}
TALUS_OPERATOR void operator delete(void* p, size_t) noexcept { talus::api::free(p); }
TALUS_OPERATOR void operator delete[](void* p, size_t) noexcept { talus::api::free(p); }
TALUS_OPERATOR void operator delete(void* p, std::align_val_t) noexcept { talus::api::free(p); }
TALUS_OPERATOR void operator delete[](void* p, std::align_val_t) noexcept { talus::api::free(p); }
TALUS_OPERATOR void operator delete(void* p, size_t, std::align_val_t) noexcept {
  talus::api::free(p);
}
TALUS_OPERATOR void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  talus::api::free(p);
}
TALUS_OPERATOR void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  talus::api::free(p);
}
TALUS_OPERATOR void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  talus::api::free(p);
}
