// SPDX-License-Identifier: MIT
// space/arenas: how large the next arena is, and where it comes from.
//
// Owns: the list of all arenas, and the provider of pages, if there is one (space/provider.hpp). A
// process with a provider asks it instead of the kernel. Arenas reserved before the provider was
// set stay the kernel's.
// Invariant: an arena is a multiple of a huge page and aligned to it, unless addresses are scarce
// or the options ask for smaller arenas.
// Called on: under the space lock, except where a function says otherwise. Must not know: which
// ranges are free, and when huge pages are worth it.
#ifndef TALUS_SPACE_ARENAS_HPP
#define TALUS_SPACE_ARENAS_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "space/metadata.hpp"
#include "space/placing.hpp"
#include "space/provider.hpp"

namespace talus::core {

struct Arena {
  uintptr_t base = 0;  // 0: the kernel refused
  size_t bytes = 0;
  const PageProvider* provider = nullptr;  // null: the kernel's own
  PageRequest request = PageRequest::system;
};

// An arena in the list of all; constant, and never freed. An arena of the kernel's is not listed
// when there is no memory for the entry.
struct ListedArena {
  Arena arena;
  const ListedArena* next;
};

class Arenas {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  // Reserves an arena of at least `needed_bytes`, and of at most `bytes_most` if possible.
  // `pages`: what it is to have; the result says what it asks for. The caller asks for huge pages.
  // `reserved_bytes`: what the process has reserved so far.
  TALUS_USUAL Arena reserve(size_t needed_bytes, PageRequest pages, size_t reserved_bytes,
                            size_t bytes_most) noexcept {
    const bool is_small = options.arena_bytes < arena_alignment;
    const size_t alignment = is_small ? slice_bytes : arena_alignment;
    const size_t needed = round_up(needed_bytes, alignment);
    size_t bytes = reserved_bytes >> arena_growth_shift;
    if (bytes < options.arena_bytes) bytes = options.arena_bytes;
    if (bytes > arena_growth_max) bytes = arena_growth_max;
    bytes = round_up(bytes, alignment);
    if (bytes > bytes_most) bytes = round_down(bytes_most, alignment);
    if (bytes < needed) bytes = needed;
    if (!is_small && bytes_most == SIZE_MAX) bytes = without_rest(bytes, needed_bytes);
    if (const PageProvider* from = provider()) {
      const ProvidedRange range = from->reserve(round_up(needed_bytes, slice_bytes), bytes);
      if (range.base != 0) return Arena{range.base, range.bytes, from};
      if (!from->falls_back) return {};
    }
    while (bytes <= bytes_most) {
      // The kernel places mappings downward: below the last arena it is often free and joins it.
      void* hint = last_ > bytes ? reinterpret_cast<void*>(last_ - bytes) : nullptr;
      if (void* at = os::map_aligned(hint, bytes, alignment)) {
        if (pages == PageRequest::small) os::System::advise_small(at, bytes);
        return note(at, bytes, pages);
      }
      if (bytes == needed) break;
      bytes = bytes / 2 > needed ? round_up(bytes / 2, alignment) : needed;
    }
    // When addresses are scarce, alignment to huge pages is given up first.
    const size_t least = round_up(needed_bytes, slice_bytes);
    bytes = bytes_most < alignment ? round_down(bytes_most, slice_bytes) : least;
    if (bytes < least) bytes = least;
    void* at = os::map_aligned(nullptr, bytes, slice_bytes);
    return at == nullptr ? Arena{} : note(at, bytes, PageRequest::system);
  }
  // Lists an arena that will stay. False: it was not listed, and must be unmapped.
  [[nodiscard]] bool list(const Arena& arena, Metadata& metadata) noexcept {
    void* place = metadata.take(sizeof(ListedArena));
    if (place == nullptr) return arena.provider == nullptr;
    const ListedArena* before = shared_listed_.load_own();  // space lock
    shared_listed_.store_release(new (place) ListedArena{arena, before});
    return true;
  }
  const ListedArena* newest() const noexcept { return shared_listed_.load_acquire(); }
  // Addresses of one arena that were mapped anew get their former name and advice back, except for
  // huge pages.
  void advise_anew(uintptr_t base, uintptr_t end) const noexcept {
    name(reinterpret_cast<void*>(base), end - base);
    if (request_at(base) != PageRequest::small) return;
    os::System::advise_small(reinterpret_cast<void*>(base), end - base);
  }

  // From here on arenas come from a provider.
  void set_provider(const PageProvider& from) noexcept { shared_provider_.store_release(&from); }
  void forget_provider() noexcept { shared_provider_.store_release(nullptr); }
  // Null: the kernel. This function and the next four need no lock.
  const PageProvider* provider() const noexcept { return shared_provider_.load_acquire(); }
  // The provider of the memory at this address; null: the kernel.
  const PageProvider* provider_of(uintptr_t address) const noexcept {
    if (TALUS_LIKELY(provider() == nullptr)) return nullptr;
    for (const ListedArena* at = newest(); at != nullptr; at = at->next) {
      if (address - at->arena.base < at->arena.bytes) return at->arena.provider;
    }
    return nullptr;
  }
  // A part of a free range that ends at `free_end` is about to be used. False: there is no memory.
  [[nodiscard]] bool commit(uintptr_t base, size_t bytes, uintptr_t free_end) const noexcept {
    const PageProvider* from = provider_of(base);
    if (TALUS_LIKELY(from == nullptr) || from->commit == nullptr) return true;
    return from->commit(base, bytes, free_end - base);
  }
  bool may_purge() const noexcept {
    const PageProvider* from = provider();
    if (TALUS_LIKELY(from == nullptr)) return !os::System::is_purge_broken();
    return from->purge != nullptr || from->falls_back;
  }
  bool purge(uintptr_t base, size_t bytes) const noexcept {
    const PageProvider* from = provider_of(base);
    if (TALUS_LIKELY(from == nullptr)) {
      return os::System::purge(reinterpret_cast<void*>(base), bytes);
    }
    return from->purge != nullptr && from->purge(base, bytes);
  }

 private:
  // At least `bytes`, filled by ranges of `range_bytes` but for little. A huge page that the last
  // of them begins would make the rest resident.
  static size_t without_rest(size_t bytes, size_t range_bytes) noexcept {
    if (range_bytes < bytes / arena_few_ranges || range_bytes > arena_longer_max) return bytes;
    size_t best = bytes;
    for (size_t more = bytes; more - bytes <= arena_longer_max; more += arena_alignment) {
      if (more % range_bytes * best < best % range_bytes * more) best = more;
      if (best % range_bytes <= best / arena_rest_part) break;
    }
    return best;
  }
  PageRequest request_at(uintptr_t address) const noexcept {
    for (const ListedArena* at = newest(); at != nullptr; at = at->next) {
      if (address - at->arena.base < at->arena.bytes) return at->arena.request;
    }
    return PageRequest::system;
  }
  static void name(void* at, size_t bytes) noexcept {
    if (TALUS_UNLIKELY(options.name_mappings)) os::System::name_mapping(at, bytes, "talus");
  }
  Arena note(void* at, size_t bytes, PageRequest pages) noexcept {
    name(at, bytes);
    last_ = reinterpret_cast<uintptr_t>(at);
    return Arena{last_, bytes, nullptr, pages};
  }

  uintptr_t last_ = 0;
  Atomic<const ListedArena*> shared_listed_;     // written under the space lock
  Atomic<const PageProvider*> shared_provider_;  // set once, when the process starts
};

}  // namespace talus::core

#endif  // TALUS_SPACE_ARENAS_HPP
