// SPDX-License-Identifier: MIT
// space/huge_places: where the kernel was asked for huge pages.
//
// Owns: the list of these places, and the advice to the kernel for them. Invariants: places do not
// overlap. An entry that is not used any more serves the next place.
// Called on: under the space lock. Must not know: why huge pages are asked for, or given up.
#ifndef TALUS_SPACE_HUGE_PLACES_HPP
#define TALUS_SPACE_HUGE_PLACES_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "space/metadata.hpp"

namespace talus::core {

class HugePlaces {
 public:
  bool has_any() const noexcept { return first_ != nullptr; }
  bool holds(uintptr_t address) const noexcept { return place_of(address) != nullptr; }
  bool has_any_within(uintptr_t base, uintptr_t end) const noexcept {
    for (const Place* at = first_; at != nullptr; at = at->next) {
      if (at->base < end && base < at->base + at->bytes) return true;
    }
    return false;
  }
  // The first address from `address` on that lies in no place.
  uintptr_t behind(uintptr_t address) const noexcept {
    while (const Place* place = place_of(address)) address = place->base + place->bytes;
    return address;
  }
  // The first address from `address` on that begins a place; `end`: none before that.
  uintptr_t next(uintptr_t address, uintptr_t end) const noexcept {
    for (const Place* at = first_; at != nullptr; at = at->next) {
      if (at->base >= address && at->base < end) end = at->base;
    }
    return end;
  }

  // Remembers a place. False: there is no memory for that.
  bool note(uintptr_t at, size_t bytes, Metadata& metadata) noexcept {
    for (Place* place = first_; place != nullptr; place = place->next) {
      if (place->base + place->bytes != at && at + bytes != place->base) continue;
      if (place->base > at) place->base = at;
      place->bytes += bytes;
      return true;
    }
    Place* place = unused_;
    if (place != nullptr) {
      unused_ = place->next;
    } else {
      place = static_cast<Place*>(metadata.take(sizeof(Place)));
      if (place == nullptr) return false;
    }
    *place = Place{at, bytes, first_};
    first_ = place;
    return true;
  }
  // Asks the kernel for huge pages, if the place can be remembered.
  void ask(uintptr_t at, size_t bytes, Metadata& metadata) noexcept {
    if (note(at, bytes, metadata)) os::System::advise_huge(reinterpret_cast<void*>(at), bytes);
  }
  // Asks again: these addresses were mapped anew.
  void ask_anew(uintptr_t base, uintptr_t end) const noexcept {
    for (const Place* place = first_; place != nullptr; place = place->next) {
      const uintptr_t first = Greater::of(base, place->base);
      const uintptr_t last = place->base + place->bytes < end ? place->base + place->bytes : end;
      if (first < last) os::System::advise_huge(reinterpret_cast<void*>(first), last - first);
    }
  }
  // The huge pages of a range get small ones, even if huge ones were asked for ahead.
  TALUS_COLD void leave_small(uintptr_t base, uintptr_t end, Metadata& metadata) noexcept {
    for (uintptr_t at = round_down(base, arena_alignment); at < end; at += arena_alignment) {
      Place* place = first_;
      while (place != nullptr && at - place->base >= place->bytes) place = place->next;
      if (place == nullptr) continue;
      const uintptr_t behind = at + arena_alignment;
      const uintptr_t place_end = place->base + place->bytes;
      place->bytes = at - place->base;
      // Without memory to remember it, the part behind is not known as huge.
      if (behind < place_end) note(behind, place_end - behind, metadata);
      os::System::advise_small(reinterpret_cast<void*>(at), arena_alignment);
    }
  }
  // All places take small pages from here on.
  void split_all() noexcept {
    while (Place* place = first_) {
      os::System::advise_small(reinterpret_cast<void*>(place->base), place->bytes);
      first_ = place->next;
      place->next = unused_;
      unused_ = place;
    }
  }

 private:
  struct Place {
    uintptr_t base;
    size_t bytes;
    Place* next;
  };

  const Place* place_of(uintptr_t address) const noexcept {
    for (const Place* at = first_; at != nullptr; at = at->next) {
      if (address - at->base < at->bytes) return at;
    }
    return nullptr;
  }

  Place* first_ = nullptr;
  Place* unused_ = nullptr;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_HUGE_PLACES_HPP
