// SPDX-License-Identifier: MIT
// os/rare_calls: may Talus make the system calls that sandboxes usually do not list?
//
// Under a filter of system calls, an unlisted call may end the process. Some calls save much,
// though filters seldom list them: mincore (space/fill_probe.hpp), process_madvise
// (reclaim/purge_holes.hpp) and membarrier (heap/thread_order.hpp). They are made only where there
// cannot be a filter: the process began without one, and no part of it has asked for one since
// (threads/helper.hpp finds out).
// Invariant: forbidding is final. A caller asks under a lock for which forbid_rare_calls() waits:
// the space lock, or registry.decaying. The background thread needs no lock, because it has ended
// before.
// Called on: any thread. Must not know: how filters are recognised.
#ifndef TALUS_OS_RARE_CALLS_HPP
#define TALUS_OS_RARE_CALLS_HPP

#include "base/base.hpp"

namespace talus::core {

class RareCalls {
 public:
  // At start: sets the function that finds out, when the answer is first needed.
  void ask_when_needed(bool (*is_allowed)() noexcept) noexcept {
    shared_ask_.store_init(is_allowed);
  }
  // From here on no thread begins such a call.
  void forbid() noexcept { shared_state_.store_hint(no); }  // a waiter takes the locks
  bool are_forbidden() const noexcept { return shared_state_.load_hint() == no; }
  // Finds out once.
  bool are_allowed() noexcept {
    const uint8_t state = shared_state_.load_hint();
    return state == unknown ? ask() : state == yes;
  }
  // Finds out again: a filter may have come unnoticed.
  bool ask() noexcept {
    bool (*const is_allowed)() noexcept = shared_ask_.load_init();
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
TALUS_CONSTINIT inline RareCalls rare_calls;

}  // namespace talus::core

#endif  // TALUS_OS_RARE_CALLS_HPP
