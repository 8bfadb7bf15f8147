// SPDX-License-Identifier: MIT
// space/fill_probe: does the program fill the addresses it takes?
//
// How a program will use addresses is unknown, but the kernel knows how it used earlier ones. Now
// and then a place of the size of a huge page is left with small pages: the probe. When the next
// place begins, or when the probe's user gives it back, the kernel says (mincore) how much of it
// has memory. That is the verdict until the next probe. The first probe is due after 32 MiB taken
// on trust. Each time that the trust was justified, the distance doubles, up to half of what the
// process uses. After a verdict of no a probe is due at once.
// Where the kernel may not be asked (os/rare_calls.hpp) the verdict is no.
// Invariant: a probe never lies where huge pages were asked for, which would be completely
// resident.
// Called on: under the space lock. Must not know: what follows from the verdict.
#ifndef TALUS_SPACE_FILL_PROBE_HPP
#define TALUS_SPACE_FILL_PROBE_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

class FillProbe {
 public:
  static constexpr size_t place_bytes = arena_alignment;

  // A place begins at `first`, which is free, in a process that uses `given_bytes`. Returns whether
  // the program fills what it takes. If a probe is due, this place becomes it, and `first` moves
  // behind it.
  bool judge(uintptr_t& first, size_t given_bytes) noexcept {
    if (at_ != 0) conclude(is_filled(at_));
    const size_t most = given_bytes / 2 > huge_trusted_bytes ? given_bytes / 2 : huge_trusted_bytes;
    if (trust_limit_ > most) trust_limit_ = most;
    if (!is_filling_ || trusted_bytes_ >= trust_limit_) {
      at_ = first;
      first += place_bytes;
      trusted_bytes_ = 0;
    }
    return is_filling_;
  }
  // `bytes` became huge pages without proof.
  void trust(size_t bytes) noexcept { trusted_bytes_ += bytes; }
  // The user of [base, end) is gone. `has_pages`: it left its pages there instead of moving them.
  void end_use(uintptr_t base, uintptr_t end, bool has_pages) noexcept {
    if (at_ < base || at_ >= end) return;
    if (has_pages) conclude(is_filled(at_));
    at_ = 0;
  }
  // Is a place that begins at this address, a multiple of a page, filled? Three quarters suffice:
  // the bytes that round blocks up are never written, and a fault costs more than that memory.
  static bool is_filled(uintptr_t at) noexcept {
    if (!rare_calls.are_allowed()) return false;
    // If only the ends of blocks are touched, a look at the middle answers in less time.
    constexpr size_t middle_bytes = place_bytes / 16;
    if (resident_pages(at + place_bytes / 2, middle_bytes) == 0) return false;
    const size_t count = place_bytes / os::page_bytes();
    return resident_pages(at, place_bytes) >= count - count / 4;
  }
  // The earlier results are no longer valid.
  void forget() noexcept { *this = FillProbe{}; }

 private:
  // Also 0 if the kernel does not say.
  TALUS_USUAL static size_t resident_pages(uintptr_t at, size_t bytes) noexcept {
    unsigned char pages[place_bytes / page_bytes_min];
    if (!os::System::look_for_pages(reinterpret_cast<void*>(at), bytes, pages)) return 0;
    const size_t count = bytes / os::page_bytes();
    size_t resident = 0;
    for (size_t i = 0; i < count; i++) resident += pages[i] & 1;
    return resident;
  }

  void conclude(bool is_filling) noexcept {
    trust_limit_ = is_filling_ && is_filling ? 2 * trust_limit_ : huge_trusted_bytes;
    is_filling_ = is_filling;
    at_ = 0;
  }

  uintptr_t at_ = 0;          // the probe's place; 0: none
  size_t trusted_bytes_ = 0;  // since the last probe
  size_t trust_limit_ = huge_trusted_bytes;
  bool is_filling_ = false;  // the verdict
};

}  // namespace talus::core

#endif  // TALUS_SPACE_FILL_PROBE_HPP
