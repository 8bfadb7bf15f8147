// SPDX-License-Identifier: MIT
// space/placing: how the user of a range will fill it, and where the range is to begin.
//
// Owns: nothing. Must not know: which ranges are free.
#ifndef TALUS_SPACE_PLACING_HPP
#define TALUS_SPACE_PLACING_HPP

#include "base/base.hpp"

namespace talus::core {

// How the user of a range fills it: a slab with few gaps (dense), some (middling) or many (sparse);
// a program as it pleases (unknown). A block that moves brings its contents along, with the advice
// given to the kernel for them (moved). A range much smaller than its alignment stands apart from
// the next one, which leaves gaps (apart).
enum class Filling : uint8_t { unknown, moved, apart, sparse, middling, dense };
constexpr bool is_for_slab(Filling filling) noexcept { return filling >= Filling::sparse; }

// Which pages an arena asks for.
enum class PageRequest : uint8_t { system, small, huge };

// Where a range begins (`phase` bytes behind a multiple of `alignment`) and how it will be filled.
struct Placing {
  size_t alignment = slice_bytes;
  Filling filling = Filling::unknown;
  size_t phase = 0;         // a multiple of a slice, less than the alignment
  bool is_request = false;  // a preference: touched memory may serve wherever it begins

  // The filling of a range of `slices`. The gaps beside an aligned range cost huge pages, too.
  Filling filling_of(size_t slices) const noexcept {
    const size_t bytes = slices * slice_bytes;
    if (TALUS_LIKELY(alignment == slice_bytes) || is_request) return filling;
    if (filling != Filling::unknown || bytes >= arena_alignment) return filling;
    const size_t room = round_up(bytes, alignment);
    return bytes < room - room / 4 ? Filling::apart : filling;
  }
};

// What a call of Space::take() looks for.
struct RangeRequest {
  size_t slices;
  size_t alignment;
  size_t phase;
  size_t wanted;  // slices of a range in which the request fits wherever that range begins
  Filling filling;
  bool is_optional;  // the alignment is

  RangeRequest(size_t count, const Placing& placing) noexcept
      : slices{count},
        alignment{placing.alignment},
        phase{placing.phase},
        wanted{count + slack(placing.alignment)},
        filling{placing.filling_of(count)},
        is_optional{placing.is_request} {}

  // Can there be this many addresses?
  bool is_possible() const noexcept {
    return wanted >= slices && wanted <= (size_t{1} << (address_bits - slice_shift));
  }
  bool is_aligned() const noexcept { return wanted != slices; }
  // May it begin at any slice?
  bool is_anywhere() const noexcept { return alignment == slice_bytes || is_optional; }
  void drop_alignment() noexcept {
    alignment = slice_bytes;
    phase = 0;
  }
  // The first address from `first` on where it may begin.
  uintptr_t begin_from(uintptr_t first) const noexcept {
    return round_up(first - phase, alignment) + phase;
  }

 private:
  // Slices that lie before an aligned range at most.
  static size_t slack(size_t alignment) noexcept {
    return alignment > slice_bytes ? alignment / slice_bytes - 1 : 0;
  }
};

}  // namespace talus::core

#endif  // TALUS_SPACE_PLACING_HPP
