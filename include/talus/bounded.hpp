// SPDX-License-Identifier: MIT
// bounded.hpp: bounded instances and their thread caches as C++ objects.
//
// An instance ends with all its caches and the blocks in its pools; it does not destroy the objects
// in them. Without memory, functions throw std::bad_alloc, which ends the program if exceptions are
// off. Invalid options call std::abort. Works in C++17 and later, with the library linked and with
// TALUS_HEADER_ONLY.
//
// Owns: nothing but the mapping to bounded.h, whose functions define the contract.
#ifndef TALUS_BOUNDED_HPP
#define TALUS_BOUNDED_HPP

#include <errno.h>
#include <stdlib.h>

#include "talus/talus.hpp"
// Adds nothing if talus.hpp is the one header.
#include "talus/bounded.h"

#if defined(TALUS_HEADER_ONLY)
#pragma GCC visibility push(hidden)  // each shared object has its own instances
#endif

namespace talus {

// Owns one instance; can be moved, not copied. A moved-from object may only be assigned to, tested
// for an instance, and destroyed.
class bounded {
 public:
  // `pools` pools with this budget each; the heap of talus_malloc serves the rest.
  bounded(std::size_t pools, std::size_t budget_bytes) {
    talus_bounded_options wanted{};
    wanted.pools = pools;
    wanted.budget_bytes = budget_bytes;
    begin(wanted);
  }
  explicit bounded(const talus_bounded_options& wanted) { begin(wanted); }

  // A block of at least `bytes` bytes at a multiple of `alignment`, a power of two. Errors:
  // std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes,
                               std::size_t alignment = detail::default_alignment) {
    void* block = try_allocate(bytes, alignment);
    if (block == nullptr) detail::throw_bad_alloc();
    return block;
  }
  // The same, with null instead of an error.
  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment = detail::default_alignment) noexcept {
    return alignment <= detail::default_alignment
               ? talus_bounded_malloc(get(), bytes)
               : talus_bounded_aligned_alloc(get(), alignment, bytes);
  }
  void deallocate(void* pointer) noexcept { talus_bounded_free(get(), pointer); }
  // The pool of an address; -1: in no pool.
  [[nodiscard]] int pool_of(const void* pointer) const noexcept {
    return talus_bounded_pool_of(get(), pointer);
  }
  // The numbers of one pool, or of all.
  [[nodiscard]] talus_bounded_numbers stats(std::size_t pool = SIZE_MAX) const noexcept {
    return talus_bounded_stats(get(), pool);
  }
  // For the functions of bounded.h; null: no instance.
  [[nodiscard]] talus_bounded* get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  void begin(const talus_bounded_options& wanted) {
    handle_.reset(talus_bounded_new(&wanted));
    if (handle_ == nullptr && errno == EINVAL) abort();
    if (handle_ == nullptr) detail::throw_bad_alloc();
  }

  struct end {
    void operator()(talus_bounded* handle) const noexcept { talus_bounded_destroy(handle); }
  };
  std::unique_ptr<talus_bounded, end> handle_;
};

// The cache of the calling thread for an instance, as long as this object lives. The object must
// end before the instance, and on the same thread. It may end late there, in destructors of keys
// and of thread-local objects. The cache itself has then ended with the thread, and is not used any
// more.
class bounded_cache {
 public:
  // `capacities`: one number for each pool; null: the defaults of bounded.h. Errors:
  // std::bad_alloc. A second cache of one thread for one instance calls std::abort.
  explicit bounded_cache(bounded& before, const std::size_t* capacities = nullptr,
                         talus_bounded_start start = TALUS_BOUNDED_COLD) {
    handle_ = talus_bounded_cache_new(before.get(), capacities, start);
    if (handle_ == nullptr && errno != ENOMEM) abort();
    if (handle_ == nullptr) detail::throw_bad_alloc();
  }
  bounded_cache(const bounded_cache&) = delete;
  bounded_cache& operator=(const bounded_cache&) = delete;
  ~bounded_cache() { talus_bounded_cache_destroy(handle_); }

  // Errors: std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    void* block = talus_bounded_cache_malloc(handle_, bytes);
    if (block == nullptr) detail::throw_bad_alloc();
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
