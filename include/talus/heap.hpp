// SPDX-License-Identifier: MIT
// heap.hpp: a program's own heap as a C++ object, and an allocator for containers in it.
//
// A talus::heap ends with all its blocks; it does not destroy the objects in them. Without memory,
// or at the heap's limit, functions throw std::bad_alloc. Compiled without exceptions, std::abort
// ends the program. Any thread may call all functions, except the end of a heap. Works in C++17 and
// later, with the library linked and with TALUS_HEADER_ONLY.
//
// Owns: nothing but the mapping to talus.h, where the talus_heap_* functions define the contract.
#ifndef TALUS_HEAP_HPP
#define TALUS_HEAP_HPP

#include "talus/talus.hpp"

#if defined(TALUS_HEADER_ONLY)
#pragma GCC visibility push(hidden)  // each shared object has its own heaps
#endif

namespace talus {

// Owns one heap; can be moved, not copied. A moved-from or released object owns none. It may only
// be assigned to, tested for a heap, and destroyed.
class heap {
 public:
  // A heap with a name of up to 31 characters, and a limit on the bytes of its slabs and large
  // blocks; 0: none. Errors: std::bad_alloc.
  explicit heap(const char* name = nullptr, std::size_t limit_bytes = 0)
      : heap{options_of(nullptr, name, limit_bytes)} {}
  // A heap with memory from a provider (talus_provider in talus.h). Errors: std::bad_alloc, also
  // for an impossible provider.
  explicit heap(const talus_provider& provider, const char* name = nullptr,
                std::size_t limit_bytes = 0)
      : heap{options_of(&provider, name, limit_bytes)} {}
  // A heap with these options of talus_heap_new. Errors: std::bad_alloc, whatever the reason.
  explicit heap(const talus_heap_options& wanted) : handle_{talus_heap_new(&wanted)} {
    if (handle_ == nullptr) detail::throw_bad_alloc();
  }
  // A heap in addresses that no other heap uses. /proc/PID/maps then shows its name, where the
  // kernel can. `bytes`: the most that it may have; 0: 64 GiB, or as many as the kernel gives.
  [[nodiscard]] static heap in_own_pages(const char* name = nullptr, std::size_t bytes = 0) {
    talus_provider provider{};
    provider.bytes = bytes;
    talus_heap_options wanted{};
    wanted.name = name;
    wanted.flags = TALUS_HEAP_OWN_PAGES;
    wanted.provider = &provider;
    return heap{wanted};
  }
  // The same, with memory of this node of the machine, counted from 0, while the node has any.
  // Errors: std::bad_alloc, also for a missing node, or where the process may not ask for one.
  [[nodiscard]] static heap on_node(unsigned node, const char* name = nullptr) {
    talus_heap_options wanted{};
    wanted.name = name;
    wanted.numa_node = node < ~0u ? node + 1 : node;
    return heap{wanted};
  }
  // A checked heap: each wrong free and resize of its blocks stops at once, whatever the process's
  // mode (docs/modes.md). Errors: std::bad_alloc.
  [[nodiscard]] static heap checked(const char* name = nullptr, std::size_t limit_bytes = 0) {
    talus_heap_options wanted = options_of(nullptr, name, limit_bytes);
    wanted.mode = TALUS_MODE_CHECKED;
    return heap{wanted};
  }
  // In the caller's buffer of `bytes` bytes, at least 128 KiB, which outlives the heap.
  [[nodiscard]] static heap in_buffer(void* buffer, std::size_t bytes, const char* name = nullptr) {
    talus_provider provider{};
    provider.kind = TALUS_PROVIDER_BUFFER;
    provider.buffer = buffer;
    provider.bytes = bytes;
    return heap{provider, name};
  }
  // With memory taken at the start; `falls_back`: with more when that is used up.
  [[nodiscard]] static heap preallocated(std::size_t bytes, bool falls_back = false,
                                         const char* name = nullptr) {
    talus_provider provider{};
    provider.kind = TALUS_PROVIDER_PREALLOC;
    provider.flags = falls_back ? TALUS_PROVIDER_FALLBACK : 0;
    provider.bytes = bytes;
    return heap{provider, name};
  }
  // In a file without a name in a directory; `grows`: takes room on the disk as it is needed.
  [[nodiscard]] static heap in_file(const char* directory, std::size_t bytes, bool grows = true,
                                    const char* name = nullptr) {
    talus_provider provider{};
    provider.kind = TALUS_PROVIDER_FILE;
    provider.flags = grows ? TALUS_PROVIDER_GROW : 0;
    provider.directory = directory;
    provider.bytes = bytes;
    return heap{provider, name};
  }

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
               ? talus_heap_malloc(get(), bytes)
               : talus_heap_aligned_alloc(get(), alignment, bytes);
  }
  // Frees a block of this heap; a block of another heap is reported and ends the process.
  void deallocate(void* pointer) noexcept { talus_heap_free(get(), pointer); }
  // Frees all blocks; the heap stays.
  void clear() noexcept { talus_heap_clear(get()); }
  // True for the start of a live block of this heap.
  [[nodiscard]] bool contains(const void* pointer) const noexcept {
    return talus_heap_contains(get(), pointer) != 0;
  }
  [[nodiscard]] talus_heap_numbers stats() const noexcept { return talus_heap_stats(get()); }
  [[nodiscard]] const char* name() const noexcept { return talus_heap_name(get()); }

  // Ends the heap; its blocks live on as those of talus_malloc. Errors: std::bad_alloc, also for a
  // heap in a buffer or with callbacks.
  void leave_blocks() {
    if (talus_heap_delete(get()) != 0) detail::throw_bad_alloc();
    static_cast<void>(release());
  }
  // For the functions of talus.h; null: no heap.
  [[nodiscard]] talus_heap* get() const noexcept { return handle_.get(); }
  // The caller must end the heap.
  [[nodiscard]] talus_heap* release() noexcept { return handle_.release(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  static talus_heap_options options_of(const talus_provider* provider, const char* name,
                                       std::size_t limit_bytes) noexcept {
    talus_heap_options wanted{};
    wanted.name = name;
    wanted.limit_bytes = limit_bytes;
    wanted.provider = provider;
    return wanted;
  }

  // Frees all blocks at once.
  struct end {
    void operator()(talus_heap* handle) const noexcept { talus_heap_destroy(handle); }
  };
  std::unique_ptr<talus_heap, end> handle_;
};

// An allocator for containers in a heap. They must end before the heap. Copies of a container are
// in the same heap, and so is the target of a move or swap.
template <typename T>
class heap_allocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  heap_allocator(const heap& owner) noexcept : handle_{owner.get()} {}  // NOLINT: as a resource
  template <typename U>
  heap_allocator(const heap_allocator<U>& other) noexcept : handle_{other.handle()} {}  // NOLINT

  // Room for `count` objects. More than PTRDIFF_MAX bytes: std::bad_array_new_length.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) detail::throw_bad_array_length();
    const std::size_t bytes = count * sizeof(T);
    void* block = alignof(T) <= detail::default_alignment
                      ? talus_heap_malloc(handle_, bytes)
                      : talus_heap_aligned_alloc(handle_, alignof(T), bytes);
    if (block == nullptr) detail::throw_bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* pointer, std::size_t) noexcept { talus_heap_free(handle_, pointer); }
  [[nodiscard]] talus_heap* handle() const noexcept { return handle_; }

 private:
  talus_heap* handle_;
};

template <typename T, typename U>
bool operator==(const heap_allocator<T>& one, const heap_allocator<U>& other) noexcept {
  return one.handle() == other.handle();
}
template <typename T, typename U>
bool operator!=(const heap_allocator<T>& one, const heap_allocator<U>& other) noexcept {
  return one.handle() != other.handle();
}

}  // namespace talus

#if defined(TALUS_HEADER_ONLY)
#pragma GCC visibility pop
#endif

#endif  // TALUS_HEAP_HPP
