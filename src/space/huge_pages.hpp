// SPDX-License-Identifier: MIT
// space/huge_pages: when to ask for huge pages, which addresses to take then, when to give them up.
//
// When to ask (TALUS_THP):
//   adaptive  in a process that is large enough, untouched addresses ask when they are taken:
//             for slabs if the slabs are full, or grow fast (space/growth_pace.hpp); for others if
//             the program filled what it took before (space/fill_probe.hpp). Arenas of small
//             processes ask for small pages. Arenas of large blocks ask for nothing, so the system
//             decides.
//   always    all arenas ask for huge pages
//   never     all arenas ask for small pages
// Which addresses: threads that take at the same time begin huge pages of their own
// (space/fresh_pages.hpp).
// When to give them up: surplus of slabs and ranges in huge pages cannot leave piece by piece. If
// it is large, or the process became small, all huge pages go.
// docs/decisions/0003 has the measurements.
// Owns: the places that asked (space/huge_places.hpp), and what the three other files learnt.
// Called on: under the space lock. Must not know: which ranges are free.
#ifndef TALUS_SPACE_HUGE_PAGES_HPP
#define TALUS_SPACE_HUGE_PAGES_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "space/fill_probe.hpp"
#include "space/fresh_pages.hpp"
#include "space/growth_pace.hpp"
#include "space/huge_places.hpp"
#include "space/metadata.hpp"
#include "space/placing.hpp"

namespace talus::core {

class HugePagePolicy {
 public:
  // What an arena asks for. `filling`: of its first user; `reserved_bytes`: by the process so far.
  static PageRequest request_for_arena(Filling filling, size_t reserved_bytes) noexcept {
    if (options.thp == HugePages::never) return PageRequest::small;
    if (options.thp == HugePages::always) return PageRequest::huge;
    const bool is_small = is_for_slab(filling) || reserved_bytes < small_process_bytes_max;
    return is_small ? PageRequest::small : PageRequest::system;
  }
  // A whole arena asks.
  void ask_for_arena(uintptr_t base, size_t bytes, Metadata& metadata) noexcept {
    places_.ask(base, bytes, metadata);
  }

  // Where to take `bytes` of untouched memory instead of at `first`, where a free range ends at
  // `end`. `taker` becomes the caller, if that matters. See FreshPages::choose().
  template <typename FreeAt>
  uintptr_t choose(uintptr_t first, uintptr_t end, size_t bytes, size_t given_bytes, Taker& taker,
                   FreeAt free_at) noexcept {
    if (!places_.has_any()) return first;
    taker = Taker::caller();
    return fresh_.choose(first, end, bytes, given_bytes, taker, free_at);
  }
  // Untouched addresses [base, end) are taken; the addresses up to `clean_end` are untouched, too.
  // If the user fills them, in a process that uses `given_bytes`, asks for the huge pages that
  // begin there, and for some that follow.
  TALUS_USUAL void begin_use(uintptr_t base, uintptr_t end, uintptr_t clean_end, Filling filling,
                             size_t given_bytes, Metadata& metadata) noexcept {
    if (!is_adaptive(given_bytes) || filling == Filling::moved) return;
    // What the program filled before says nothing about a user that leaves gaps.
    if (filling == Filling::apart) return places_.leave_small(base, end, metadata);
    if (is_for_slab(filling) && given_bytes < huge_sparse_bytes_min) {
      note_growth(end - base, os::System::now_ns());
    }
    if (given_bytes < enough_for(filling)) return;
    uintptr_t first = places_.behind(round_up(base, arena_alignment));
    const uintptr_t last = round_down(clean_end, arena_alignment);
    if (first >= end || first >= last) return;
    if (!is_known_to_fill(filling, given_bytes) && !probe_.judge(first, given_bytes)) return;
    if (first >= last) return;
    const size_t bytes = bytes_to_ask(first, end, last, given_bytes);
    probe_.trust(bytes);
    places_.ask(first, bytes, metadata);
  }
  // The same addresses, and the thread that took them; a Taker without time is the caller.
  void note_taken(uintptr_t base, uintptr_t end, const Taker& taker) noexcept {
    if (!is_huge(end - 1)) return;
    fresh_.note_taken(base, end, taker.now_ns != 0 ? taker : Taker::caller());
  }
  // Slabs took `bytes` at this time.
  void note_growth(size_t bytes, uint64_t now_ns) noexcept { pace_.note(bytes, now_ns); }
  // A range has no user any more; FillProbe needs to know.
  void end_use(uintptr_t base, uintptr_t end, bool has_pages) noexcept {
    probe_.end_use(base, end, has_pages);
  }
  // Contents of [from, from_end) were moved to where [to, to_end) begins, with the advice given to
  // the kernel. The old range was mapped anew, and gets its former advice back. The new one asks
  // for huge pages, also for what will be added, if the contents were in huge pages or filled small
  // ones.
  void note_moved(uintptr_t from, uintptr_t from_end, uintptr_t to, uintptr_t to_end,
                  bool is_filled, size_t given_bytes, Metadata& metadata) noexcept {
    const bool was_huge = has_huge_within(from, from_end);
    places_.ask_anew(from, from_end);
    if (!is_adaptive(given_bytes)) return;
    if (!was_huge && !is_filled && !has_huge_within(to, to_end)) return;
    const uintptr_t last = round_down(to_end, arena_alignment);
    for (uintptr_t at = places_.behind(round_up(to, arena_alignment)); at < last;) {
      const uintptr_t end = places_.next(at, last);
      if (!places_.note(at, end - at, metadata)) return;
      at = places_.behind(end);
    }
    // Advises the whole range, so that it does not split into more mappings.
    os::System::advise_huge(reinterpret_cast<void*>(to), to_end - to);
  }

  // Does this address lie in a place for which huge pages were asked?
  bool is_huge(uintptr_t address) const noexcept { return places_.holds(address); }
  bool has_huge() const noexcept { return places_.has_any(); }
  bool has_huge_within(uintptr_t base, uintptr_t end) const noexcept {
    return places_.has_any_within(base, end);
  }
  // May a process that uses `given_bytes` ask for huge pages?
  static bool is_adaptive(size_t given_bytes) noexcept {
    if (options.guard_pages) return false;  // a guard tears a huge page
    return options.thp == HugePages::adaptive && given_bytes >= huge_proven_bytes_min;
  }

  // Is giving up all huge pages worth it? The surplus of heaps in their `slab_bytes`, and of free
  // ranges beside `given_bytes` in use.
  static bool is_sparse(size_t heap_surplus_bytes, size_t slab_bytes, size_t range_surplus_bytes,
                        size_t given_bytes) noexcept {
    const auto is_much = [](size_t surplus, size_t used) noexcept {
      return surplus > used / sparse_free_part && surplus >= sparse_surplus_bytes_min;
    };
    return is_much(heap_surplus_bytes, slab_bytes) || is_much(range_surplus_bytes, given_bytes) ||
           given_bytes < huge_fast_bytes_min;
  }
  bool may_split() const noexcept { return has_huge() && options.thp != HugePages::always; }
  // The process is sparse: its huge places take small pages from here on. Otherwise the kernel
  // would fill holes again that are purged later. The caller checks may_split().
  void split_all() noexcept {
    places_.split_all();
    probe_.forget();
  }

 private:
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
  // What is taken of [first, end), and some ahead in a large process; up to `last`.
  static size_t bytes_to_ask(uintptr_t first, uintptr_t end, uintptr_t last,
                             size_t given_bytes) noexcept {
    const size_t ahead = round_up(given_bytes >> arena_growth_shift, arena_alignment);
    const size_t most = round_up(given_bytes / 2, arena_alignment);
    size_t bytes = end > first ? round_up(end - first, arena_alignment) : 0;
    if (bytes > most) bytes = most;
    if (bytes < ahead) bytes = ahead;
    return bytes > last - first ? last - first : bytes;
  }

  HugePlaces places_;
  FillProbe probe_;
  GrowthPace pace_;
  FreshPages fresh_;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_HUGE_PAGES_HPP
