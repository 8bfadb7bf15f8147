// SPDX-License-Identifier: MIT
// space/fill_probe: does the program fill the addresses it takes?
//
// Nobody knows how a program will use what it takes, but the kernel knows how it used what it took
// before. Now and then a place of the size of a huge page is left with small pages: the probe. When
// the next place begins, or when the probe's user gives it back, the kernel is asked (mincore) how
// much of it has memory; that is the verdict until the next probe, which is due after 32 MiB taken
// on trust, twice as much each time that the trust was justified, at most half of what the process
// uses; and at once after a verdict of no.
// Under a filter of system calls asking may end the process, so nobody asks where such a filter may
// be (process/helper.hpp finds out); there the verdict is no.
// Invariant: a probe never lies where huge pages were asked for, which would be resident whole.
// Called on: under the space lock. Must not know: what follows from the verdict.
#ifndef TALUS_SPACE_FILL_PROBE_HPP
#define TALUS_SPACE_FILL_PROBE_HPP

#include "os/os.hpp"

namespace talus {

// May the kernel be asked which pages have memory?
class LookingRight {
 public:
  // At start: who will know when it matters, and never before.
  void ask_when_needed(bool (*is_allowed)() noexcept) noexcept {
    shared_ask_.store_relaxed(is_allowed);  // [init]
  }
  // From here on nobody begins to look; a look that is under way holds the space lock.
  void forbid() noexcept { shared_state_.store_relaxed(no); }  // [hint] who waits takes that lock
  // Found out once, under the space lock; forbidding wins.
  bool is_given() noexcept {
    uint8_t state = shared_state_.load_relaxed();  // [hint]
    bool (*const ask)() noexcept = shared_ask_.load_relaxed();  // [init]
    if (state != unknown || ask == nullptr) return state == yes;
    const uint8_t found = ask() ? yes : no;
    return shared_state_.cas_acquire(state, found) && found == yes;  // publishes nothing else
  }

 private:
  enum : uint8_t { unknown, yes, no };
  Atomic<bool (*)() noexcept> shared_ask_;
  Atomic<uint8_t> shared_state_;
};
inline LookingRight looking_right;

class FillProbe {
 public:
  static constexpr size_t place_bytes = arena_alignment;

  // A place begins at `first`, which is nobody's yet, in a process that uses `given_bytes`. Says
  // whether the program fills what it takes. If a probe is due, that becomes it, and `first` moves
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
  // So many bytes became huge pages without proof.
  void trust(size_t bytes) noexcept { trusted_bytes_ += bytes; }
  // The user of [base, end) is gone, and left its pages as they were, or took them along.
  void end_use(uintptr_t base, uintptr_t end, bool has_pages) noexcept {
    if (at_ < base || at_ >= end) return;
    if (has_pages) conclude(is_filled(at_));
    at_ = 0;
  }
  // What was found so far says nothing any more.
  void forget() noexcept { *this = FillProbe{}; }

 private:
  // Three quarters: what blocks are rounded up to is never written, and a fault costs more than
  // that memory.
  static bool is_filled(uintptr_t at) noexcept {
    unsigned char pages[place_bytes / page_bytes_min];
    if (!looking_right.is_given()) return false;
    if (!os::System::look_for_pages(reinterpret_cast<void*>(at), place_bytes, pages)) return false;
    const size_t count = place_bytes / os::page_bytes();
    size_t resident = 0;
    for (size_t i = 0; i < count; i++) resident += pages[i] & 1;
    return resident >= count - count / 4;
  }

  void conclude(bool is_filling) noexcept {
    trust_limit_ = is_filling_ && is_filling ? 2 * trust_limit_ : huge_trusted_bytes;
    is_filling_ = is_filling;
    at_ = 0;
  }

  uintptr_t at_ = 0;          // 0: none
  size_t trusted_bytes_ = 0;  // since the last probe
  size_t trust_limit_ = huge_trusted_bytes;
  bool is_filling_ = false;  // the verdict
};

}  // namespace talus

#endif  // TALUS_SPACE_FILL_PROBE_HPP
