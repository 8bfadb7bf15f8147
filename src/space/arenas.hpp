// SPDX-License-Identifier: MIT
// space/arenas: how large the next arena is, where it comes from, and where to ask for huge pages.
//
// Owns: the list of all arenas, and the list of places where the kernel was asked for huge pages.
// Policy (TALUS_THP):
//   adaptive  in a process that is large enough, untouched addresses ask when they are taken:
//             for slabs if the slabs are full, for others if the program filled what it took
//             before. Arenas of small processes ask for small pages. Arenas of large blocks ask
//             for nothing, so the system decides.
//   always    all arenas ask for huge pages
//   never     all arenas ask for small pages
// docs/decisions/0003 has the measurements.
// A process with a provider of pages (space/provider.hpp) asks it instead of the kernel. Arenas
// reserved before the provider was set stay the kernel's.
// Invariant: an arena is a multiple of a huge page and aligned to it, unless addresses are scarce
// or the options ask for smaller arenas.
// Called on: under the space lock, except where a function says otherwise. Must not know: which
// ranges are free.
#ifndef TALUS_SPACE_ARENAS_HPP
#define TALUS_SPACE_ARENAS_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "settings/options.hpp"
#include "space/fill_probe.hpp"
#include "space/growth_pace.hpp"
#include "space/metadata.hpp"
#include "space/provider.hpp"

namespace talus::core {

// How the user of a range fills it: a slab with few gaps (dense), some (middling) or many (sparse);
// a program as it pleases (unknown). A block that moves brings its contents along, with the advice
// given to the kernel for them (moved). A range much smaller than its alignment stands apart from
// the next one, which leaves gaps (apart).
enum class Filling : uint8_t { unknown, moved, apart, sparse, middling, dense };
constexpr bool is_for_slab(Filling filling) noexcept { return filling >= Filling::sparse; }

enum class PageRequest : uint8_t { system, small, huge };

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
 public:
  // Reserves an arena of at least `needed_bytes`, and of at most `bytes_most` if possible.
  // `filling`: of its first user; `reserved_bytes`: what the process has reserved so far.
  TALUS_USUAL Arena reserve(size_t needed_bytes, Filling filling, size_t reserved_bytes,
                            Metadata& metadata, size_t bytes_most) noexcept {
    const bool is_small = options.arena_bytes < arena_alignment;
    const size_t alignment = is_small ? slice_bytes : arena_alignment;
    const size_t needed = round_up(needed_bytes, alignment);
    size_t bytes = reserved_bytes >> arena_growth_shift;
    if (bytes < options.arena_bytes) bytes = options.arena_bytes;
    if (bytes > arena_growth_max) bytes = arena_growth_max;
    bytes = round_up(bytes, alignment);
    if (bytes > bytes_most) bytes = round_down(bytes_most, alignment);
    if (bytes < needed) bytes = needed;
    if (const PageProvider* from = provider()) {
      const ProvidedRange range = from->reserve(round_up(needed_bytes, slice_bytes), bytes);
      if (range.base != 0) return Arena{range.base, range.bytes, from};
      if (!from->falls_back) return {};
    }
    while (bytes <= bytes_most) {
      // The kernel places mappings downward: below the last arena it is often free and joins it.
      void* hint = last_ > bytes ? reinterpret_cast<void*>(last_ - bytes) : nullptr;
      if (void* at = os::map_aligned(hint, bytes, alignment)) {
        const PageRequest pages = request_for_arena(filling, reserved_bytes);
        request(reinterpret_cast<uintptr_t>(at), bytes, pages, metadata, reserved_bytes);
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

  // Untouched addresses [base, end) are taken; the addresses up to `clean_end` are untouched, too.
  // If the user fills them, in a process that uses `given_bytes`, asks for the huge pages that
  // begin there, and for some that follow.
  TALUS_USUAL void begin_use(uintptr_t base, uintptr_t end, uintptr_t clean_end, Filling filling,
                             size_t given_bytes, size_t reserved_bytes,
                             Metadata& metadata) noexcept {
    if (!is_adaptive(given_bytes) || filling == Filling::moved) return;
    if (filling == Filling::apart) return leave_small(base, end, metadata, reserved_bytes);
    if (is_for_slab(filling) && given_bytes < huge_sparse_bytes_min) {
      note_growth(end - base, os::System::now_ns());
    }
    if (given_bytes < enough_for(filling)) return;
    uintptr_t first = behind_huge(round_up(base, arena_alignment));
    const uintptr_t last = round_down(clean_end, arena_alignment);
    if (first >= end || first >= last) return;
    if (!is_known_to_fill(filling, given_bytes) && !probe_.judge(first, given_bytes)) return;
    if (first >= last) return;
    const size_t ahead = round_up(given_bytes >> arena_growth_shift, arena_alignment);
    const size_t most = round_up(given_bytes / 2, arena_alignment);
    size_t bytes = end > first ? round_up(end - first, arena_alignment) : 0;
    if (bytes > most) bytes = most;
    if (bytes < ahead) bytes = ahead;
    if (bytes > last - first) bytes = last - first;
    probe_.trust(bytes);
    request(first, bytes, PageRequest::huge, metadata, reserved_bytes);
  }
  // Contents of [from, from_end) were moved to where [to, to_end) begins, with the advice given to
  // the kernel. The old range was mapped anew, and gets its former advice back. The new one asks
  // for huge pages, also for what will be added, if the contents were in huge pages or filled small
  // ones.
  void note_moved(uintptr_t from, uintptr_t from_end, uintptr_t to, uintptr_t to_end,
                  bool is_filled, size_t given_bytes, size_t reserved_bytes,
                  Metadata& metadata) noexcept {
    const bool was_huge = has_huge_within(from, from_end);
    advise_anew(from, from_end);
    if (!is_adaptive(given_bytes)) return;
    if (!was_huge && !is_filled && !has_huge_within(to, to_end)) return;
    const uintptr_t last = round_down(to_end, arena_alignment);
    for (uintptr_t at = behind_huge(round_up(to, arena_alignment)); at < last;) {
      const uintptr_t end = next_huge(at, last);
      if (!note_huge(at, end - at, metadata, reserved_bytes)) return;
      at = behind_huge(end);
    }
    // Advises the whole range, so that it does not split into more mappings.
    os::System::advise_huge(reinterpret_cast<void*>(to), to_end - to);
  }
  // Slabs took `bytes` at this time.
  void note_growth(size_t bytes, uint64_t now_ns) noexcept { pace_.note(bytes, now_ns); }
  // A range has no user any more; FillProbe needs to know.
  void end_use(uintptr_t base, uintptr_t end, bool has_pages) noexcept {
    probe_.end_use(base, end, has_pages);
  }

  // Does this address lie in a place for which huge pages were asked?
  bool is_huge(uintptr_t address) const noexcept { return place_of(address) != nullptr; }
  bool has_huge() const noexcept { return huge_ != nullptr; }
  bool has_huge_within(uintptr_t base, uintptr_t end) const noexcept {
    for (const HugePlace* at = huge_; at != nullptr; at = at->next) {
      if (at->base < end && base < at->base + at->bytes) return true;
    }
    return false;
  }
  // May a process that uses `given_bytes` ask for huge pages?
  static bool is_adaptive(size_t given_bytes) noexcept {
    return options.thp == HugePages::adaptive && given_bytes >= huge_proven_bytes_min;
  }
  bool may_give_up_huge() const noexcept { return has_huge() && options.thp != HugePages::always; }
  // Lists an arena that will stay. False: it was not listed, and must be unmapped.
  [[nodiscard]] bool list(const Arena& arena, Metadata& metadata, size_t reserved_bytes) noexcept {
    void* place = metadata.take(sizeof(ListedArena), reserved_bytes);
    if (place == nullptr) return arena.provider == nullptr;
    const ListedArena* before = shared_listed_.load_own();  // space lock
    shared_listed_.store_release(new (place) ListedArena{arena, before});
    return true;
  }
  const ListedArena* newest() const noexcept { return shared_listed_.load_acquire(); }

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

  // The process is sparse: its huge places take small pages from here on. Otherwise the kernel
  // would fill holes again that are purged later. The caller checks may_give_up_huge().
  void give_up_huge() noexcept {
    while (HugePlace* place = huge_) {
      os::System::advise_small(reinterpret_cast<void*>(place->base), place->bytes);
      huge_ = place->next;
      place->next = unused_;
      unused_ = place;
    }
    probe_.forget();
  }

 private:
  struct HugePlace {
    uintptr_t base;
    size_t bytes;
    HugePlace* next;
  };

  const HugePlace* place_of(uintptr_t address) const noexcept {
    for (const HugePlace* at = huge_; at != nullptr; at = at->next) {
      if (address - at->base < at->bytes) return at;
    }
    return nullptr;
  }
  // The first address from `address` on that lies in no huge place.
  uintptr_t behind_huge(uintptr_t address) const noexcept {
    while (const HugePlace* place = place_of(address)) address = place->base + place->bytes;
    return address;
  }
  // The first address from `address` on that begins a huge place; `end`: none before that.
  uintptr_t next_huge(uintptr_t address, uintptr_t end) const noexcept {
    for (const HugePlace* at = huge_; at != nullptr; at = at->next) {
      if (at->base >= address && at->base < end) end = at->base;
    }
    return end;
  }
  // Addresses of one arena that were mapped anew get their former name and advice back.
  void advise_anew(uintptr_t base, uintptr_t end) const noexcept {
    name(reinterpret_cast<void*>(base), end - base);
    if (request_at(base) == PageRequest::small) {
      os::System::advise_small(reinterpret_cast<void*>(base), end - base);
    }
    for (const HugePlace* place = huge_; place != nullptr; place = place->next) {
      const uintptr_t first = Greater::of(base, place->base);
      const uintptr_t last = place->base + place->bytes < end ? place->base + place->bytes : end;
      if (first < last) os::System::advise_huge(reinterpret_cast<void*>(first), last - first);
    }
  }
  PageRequest request_at(uintptr_t address) const noexcept {
    for (const ListedArena* at = newest(); at != nullptr; at = at->next) {
      if (address - at->arena.base < at->arena.bytes) return at->arena.request;
    }
    return PageRequest::system;
  }
  // A program that grows slowly, an interpreter for example, may stop soon. For large blocks
  // FillProbe decides.
  size_t enough_for(Filling filling) const noexcept {
    if (!is_for_slab(filling)) return huge_proven_bytes_min;
    return pace_.is_fast() ? huge_fast_bytes_min : huge_dense_bytes_min;
  }
  bool is_known_to_fill(Filling filling, size_t given_bytes) const noexcept {
    if (!is_for_slab(filling)) return false;
    if (filling == Filling::dense || given_bytes >= huge_sparse_bytes_min) return true;
    return filling == Filling::middling && pace_.is_fast();
  }
  static PageRequest request_for_arena(Filling filling, size_t reserved) noexcept {
    if (options.thp == HugePages::never) return PageRequest::small;
    if (options.thp == HugePages::always) return PageRequest::huge;
    const bool is_small = is_for_slab(filling) || reserved < small_process_bytes_max;
    return is_small ? PageRequest::small : PageRequest::system;
  }

  void request(uintptr_t at, size_t bytes, PageRequest pages, Metadata& metadata,
               size_t reserved_bytes) noexcept {
    if (pages == PageRequest::small) os::System::advise_small(reinterpret_cast<void*>(at), bytes);
    if (pages != PageRequest::huge) return;
    if (note_huge(at, bytes, metadata, reserved_bytes)) {
      os::System::advise_huge(reinterpret_cast<void*>(at), bytes);
    }
  }
  // The places of a range get small pages even if huge ones were asked for ahead. What the program
  // filled before says nothing about a user that leaves gaps.
  TALUS_COLD void leave_small(uintptr_t base, uintptr_t end, Metadata& metadata,
                              size_t reserved_bytes) noexcept {
    for (uintptr_t at = round_down(base, arena_alignment); at < end; at += arena_alignment) {
      HugePlace* place = huge_;
      while (place != nullptr && at - place->base >= place->bytes) place = place->next;
      if (place == nullptr) continue;
      const uintptr_t behind = at + arena_alignment;
      const uintptr_t place_end = place->base + place->bytes;
      place->bytes = at - place->base;
      // Without memory to remember it, the part behind is not known as huge.
      if (behind < place_end) note_huge(behind, place_end - behind, metadata, reserved_bytes);
      os::System::advise_small(reinterpret_cast<void*>(at), arena_alignment);
    }
  }
  // False: there is no memory to remember it.
  bool note_huge(uintptr_t at, size_t bytes, Metadata& metadata, size_t reserved_bytes) noexcept {
    for (HugePlace* place = huge_; place != nullptr; place = place->next) {
      if (place->base + place->bytes != at && at + bytes != place->base) continue;
      if (place->base > at) place->base = at;
      place->bytes += bytes;
      return true;
    }
    HugePlace* place = unused_;
    if (place != nullptr) {
      unused_ = place->next;
    } else {
      place = static_cast<HugePlace*>(metadata.take(sizeof(HugePlace), reserved_bytes));
      if (place == nullptr) return false;
    }
    *place = HugePlace{at, bytes, huge_};
    huge_ = place;
    return true;
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
  HugePlace* huge_ = nullptr;
  HugePlace* unused_ = nullptr;
  FillProbe probe_;
  GrowthPace pace_;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_ARENAS_HPP
