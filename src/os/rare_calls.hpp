// SPDX-License-Identifier: MIT
// os/rare_calls: may the kernel be asked for what sandboxes usually do not list?
//
// Under a filter of system calls a call that it does not know may end the process. Some calls save
// much and are not among those that filters usually allow: mincore (space/fill_probe.hpp),
// process_madvise (reclaim/purge_holes.hpp) and membarrier (heap/thread_order.hpp). They are made
// only where no filter can be: the process began without one, and no part of it has asked for one
// since (process/helper.hpp finds out).
// Invariant: forbidding wins, for good. Who is about to make such a call asks in a lock for which
// forbid_rare_calls() waits: the space lock, or registry.decaying; or is the helper, which has
// ended before.
// Called on: any thread. Must not know: how filters are recognised.
#ifndef TALUS_OS_RARE_CALLS_HPP
#define TALUS_OS_RARE_CALLS_HPP

#include "base/base.hpp"

namespace talus {

class RareCalls {
 public:
  // At start: who will know when it matters, and never before.
  void ask_when_needed(bool (*is_allowed)() noexcept) noexcept {
    shared_ask_.store_relaxed(is_allowed);  // [init]
  }
  // From here on nobody begins such a call.
  void forbid() noexcept { shared_state_.store_relaxed(no); }  // [hint] who waits takes the locks
  bool are_forbidden() const noexcept { return shared_state_.load_relaxed() == no; }  // [hint]
  // Found out once.
  bool are_allowed() noexcept {
    const uint8_t state = shared_state_.load_relaxed();  // [hint]
    return state == unknown ? ask() : state == yes;
  }
  // Found out anew: a filter may have come in a way that nobody watches.
  bool ask() noexcept {
    bool (*const is_allowed)() noexcept = shared_ask_.load_relaxed();  // [init]
    if (is_allowed == nullptr) return false;
    if (!is_allowed()) forbid();
    uint8_t state = unknown;
    // publishes nothing else
    return shared_state_.cas_acquire(state, yes) || state == yes;
  }

 private:
  enum : uint8_t { unknown, yes, no };
  Atomic<bool (*)() noexcept> shared_ask_;
  Atomic<uint8_t> shared_state_;
};
inline RareCalls rare_calls;

}  // namespace talus

#endif  // TALUS_OS_RARE_CALLS_HPP
