// SPDX-License-Identifier: MIT
// bounded.hpp: bounded instances and their thread caches as C++ objects.
//
// Owns: nothing but the mapping to bounded.h, whose functions tell the contract. An instance ends
// with all its caches and the blocks in its pools; objects in them are not destroyed. Memory that
// cannot be had is std::bad_alloc, which ends the program where exceptions are off; a wish that is
// not sound is std::abort. Works in C++17 and later, with the library linked and with
// TALUS_HEADER_ONLY.
#ifndef TALUS_BOUNDED_HPP
#define TALUS_BOUNDED_HPP

#include <errno.h>
#include <stdlib.h>

#include "talus/talus.hpp"
// Nothing new where talus.hpp holds all of it.
#include "talus/bounded.h"

#if defined(TALUS_HEADER_ONLY)
#pragma GCC visibility push(hidden)  // as all of it: each shared object has instances of its own
#endif

namespace talus {

// Owns one instance; can be moved, not copied. One that was moved from may only be assigned to,
// asked whether it owns one, and destroyed.
class bounded {
 public:
  // `pools` pools of this many bytes each; the heap of talus_malloc serves the rest.
  bounded(std::size_t pools, std::size_t budget_bytes) {
    talus_bounded_options wishes{};
    wishes.pools = pools;
    wishes.budget_bytes = budget_bytes;
    begin(wishes);
  }
  explicit bounded(const talus_bounded_options& wishes) { begin(wishes); }

  // A block of at least `bytes` bytes at a multiple of `alignment`, a power of two. Errors:
  // std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = default_alignment) {
    void* block = try_allocate(bytes, alignment);
    if (block == nullptr) throw_bad_alloc();
    return block;
  }
  // The same, and null instead of an error.
  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment = default_alignment) noexcept {
    return alignment <= default_alignment ? talus_bounded_malloc(get(), bytes)
                                          : talus_bounded_aligned_alloc(get(), alignment, bytes);
  }
  void deallocate(void* pointer) noexcept { talus_bounded_free(get(), pointer); }
  // The pool of an address; -1: it is in none.
  [[nodiscard]] int pool_of(const void* pointer) const noexcept {
    return talus_bounded_pool_of(get(), pointer);
  }
  // Of one pool, or of all.
  [[nodiscard]] talus_bounded_numbers stats(std::size_t pool = SIZE_MAX) const noexcept {
    return talus_bounded_stats(get(), pool);
  }
  // For the functions of bounded.h; null: there is none.
  [[nodiscard]] talus_bounded* get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  void begin(const talus_bounded_options& wishes) {
    handle_.reset(talus_bounded_new(&wishes));
    if (handle_ == nullptr && errno == EINVAL) abort();
    if (handle_ == nullptr) throw_bad_alloc();
  }

  struct end {
    void operator()(talus_bounded* handle) const noexcept { talus_bounded_destroy(handle); }
  };
  std::unique_ptr<talus_bounded, end> handle_;
};

// The cache of the calling thread before an instance, from here to the end of this object, which is
// before the instance's and on the same thread. That may be late there, in destructors of keys and
// of thread-local objects: the cache itself ends with the thread, and is not used any more.
class bounded_cache {
 public:
  // `capacities`: one number for each pool; null: those of bounded.h. Errors: std::bad_alloc; a
  // second cache of one thread before one instance is std::abort.
  explicit bounded_cache(bounded& before, const std::size_t* capacities = nullptr,
                         talus_bounded_start start = TALUS_BOUNDED_COLD) {
    handle_ = talus_bounded_cache_new(before.get(), capacities, start);
    if (handle_ == nullptr && errno != ENOMEM) abort();
    if (handle_ == nullptr) throw_bad_alloc();
  }
  bounded_cache(const bounded_cache&) = delete;
  bounded_cache& operator=(const bounded_cache&) = delete;
  ~bounded_cache() { talus_bounded_cache_destroy(handle_); }

  // Errors: std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    void* block = talus_bounded_cache_malloc(handle_, bytes);
    if (block == nullptr) throw_bad_alloc();
    return block;
  }
  void deallocate(void* pointer) noexcept { talus_bounded_cache_free(handle_, pointer); }
  [[nodiscard]] talus_bounded_cache* get() const noexcept { return handle_; }

 private:
  talus_bounded_cache* handle_ = nullptr;
};

}  // namespace talus

#if defined(TALUS_HEADER_ONLY)
#pragma GCC visibility pop
#endif

#endif  // TALUS_BOUNDED_HPP
