// SPDX-License-Identifier: MIT
// space/metadata: memory for descriptors and heaps, never beside user data.
//
// Owns: chunks of pages from the kernel, each with its extent at its start, and a cursor in the
// newest one. Invariant: taken memory is zero, cache-line aligned and never given back. Owners keep
// their own lists of unused objects, so a late reader always finds an object of the type it
// expects. Called on: under the space lock.
// Must not know: what is stored.
#ifndef TALUS_SPACE_METADATA_HPP
#define TALUS_SPACE_METADATA_HPP

#include <new>

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/guards.hpp"
#include "os/os.hpp"

namespace talus::core {

// Lies at the start of each chunk. Constant once the chunk is in the list.
struct MetadataChunk {
  MetadataChunk* next;
  size_t bytes;
  bool is_in_arena;
};

class Metadata {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  // Zeroed memory at a multiple of the cache line; null: the kernel has none.
  TALUS_USUAL void* take(size_t bytes) noexcept {
    bytes = round_up(bytes, cache_line_bytes);
    if (bytes > left_bytes_ && !map_chunk(bytes)) return nullptr;
    char* taken = cursor_;
    cursor_ += bytes;
    left_bytes_ -= bytes;
    used_bytes_ += bytes;
    return taken;
  }
  // Chunks grow with the size of the arenas, so that few of them lie between arenas, which could
  // otherwise join. Large chunks cost only addresses, no memory.
  void note_reserved(size_t reserved_bytes) noexcept {
    requested_bytes_ = reserved_bytes >> meta_chunk_shift;
  }
  // Continues in zeroed memory of an arena.
  void add_chunk(void* chunk, size_t bytes) noexcept { begin_chunk(chunk, bytes, true); }
  // The room that a chunk needs for its own data.
  static constexpr size_t chunk_head_bytes = cache_line_bytes;
  // No further chunks are requested from the kernel.
  void stop_asking() noexcept { is_closed_ = true; }
  bool may_ask() const noexcept { return !is_closed_; }
  size_t used_bytes() const noexcept { return used_bytes_; }
  const MetadataChunk* newest_chunk() const noexcept { return chunks_; }

 private:
  static void* map_pages(size_t bytes) noexcept {
    if (TALUS_UNLIKELY(options.guard_pages)) return map_between_guards(bytes);
    return os::map_pages(nullptr, bytes);
  }
  // The guards are no part of the result.
  TALUS_APART static void* map_between_guards(size_t bytes) noexcept {
    const size_t page = os::page_bytes();
    auto* at = static_cast<char*>(os::map_pages(nullptr, bytes + 2 * page));
    if (at == nullptr) return nullptr;
    guards.set(at, page);
    guards.set(at + page + bytes, page);
    return at + page;
  }
  void begin_chunk(void* chunk, size_t bytes, bool is_in_arena) noexcept {
    chunks_ = new (chunk) MetadataChunk{chunks_, bytes, is_in_arena};
    cursor_ = static_cast<char*>(chunk) + chunk_head_bytes;
    left_bytes_ = bytes - chunk_head_bytes;
    used_bytes_ += chunk_head_bytes;
  }
  bool map_chunk(size_t bytes_min) noexcept {
    if (is_closed_) return false;
    bytes_min += chunk_head_bytes;
    if (bytes_min < meta_chunk_bytes) bytes_min = meta_chunk_bytes;
    size_t bytes = round_up(requested_bytes_, os::page_bytes());
    void* chunk = bytes > bytes_min ? map_pages(bytes) : nullptr;
    if (chunk == nullptr) {
      bytes = round_up(bytes_min, os::page_bytes());
      chunk = map_pages(bytes);
    }
    if (chunk == nullptr) return false;
    begin_chunk(chunk, bytes, false);
    return true;
  }

  MetadataChunk* chunks_ = nullptr;
  char* cursor_ = nullptr;
  size_t left_bytes_ = 0;
  size_t used_bytes_ = 0;
  size_t requested_bytes_ = 0;  // of the next chunk
  bool is_closed_ = false;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_METADATA_HPP
