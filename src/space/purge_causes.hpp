// SPDX-License-Identifier: MIT
// space/purge_causes: why free pages went back to the kernel, in bytes and calls by cause.
//
//   cause     begun by
//   bound     a thread that freed, or takes untouched memory: more is free than may stay
//   decay     the background thread: memory was not needed for a while
//   call      the program: malloc_trim, talus_trim, talus_release
//   command   another process: talus ctl
//   limit     the soft or the hard limit, or an allocation that failed
//   pressure  the machine or the control group has little memory left
//
// A thread says why before it walks over free memory (PurgeReason). All that it purges until the
// end of that object has this cause. What no thread gave a reason for is for the bound.
// Owns: the reasons of walks under way, and the sums. Invariants: the sums of all causes are what
// SpaceCounters has. When more walks are under way than there are places, the rest count for the
// bound. Called on: any thread; note() under the space lock. Must not know: what is purged.
#ifndef TALUS_SPACE_PURGE_CAUSES_HPP
#define TALUS_SPACE_PURGE_CAUSES_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

enum class PurgeCause : uint8_t { bound, decay, call, command, limit, pressure };
inline constexpr size_t purge_cause_count = 6;

class PurgeCauses {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  static constexpr size_t walks_max = 8;

  // The place of a walk of the calling thread; null: all are in use.
  struct Walk {
    Atomic<uint32_t> shared_thread;  // the mark of its thread; 0: no walk
    Atomic<uint32_t> shared_cause;
  };
  TALUS_USUAL Walk* begin(PurgeCause cause) noexcept {
    const uint32_t mark = os::System::thread_mark();
    for (Walk& walk : walks_) {
      uint32_t expected = 0;
      if (!walk.shared_thread.cas_acq_rel(expected, mark)) continue;
      walk.shared_cause.store_own(static_cast<uint32_t>(cause));
      return &walk;
    }
    return nullptr;
  }
  // The calling thread purged, under the space lock.
  TALUS_USUAL void note(size_t bytes, size_t calls) noexcept {
    const size_t index = cause_of_caller();
    TALUS_ASSERT(index < purge_cause_count);
    bytes_[index] += bytes;
    calls_[index] += calls;
  }
  // In the child of a fork: other threads do not exist.
  void forget_others() noexcept {
    const uint32_t mark = os::System::thread_mark();
    for (Walk& walk : walks_) {
      if (walk.shared_thread.load_own() != mark) walk.shared_thread.store_own(0);
    }
  }

  size_t bytes(PurgeCause cause) const noexcept { return bytes_[static_cast<size_t>(cause)]; }
  size_t calls(PurgeCause cause) const noexcept { return calls_[static_cast<size_t>(cause)]; }

 private:
  // The innermost walk of the thread counts; only this thread writes places with its mark.
  size_t cause_of_caller() const noexcept {
    const uint32_t mark = os::System::thread_mark();
    for (size_t i = walks_max; i-- > 0;) {
      if (walks_[i].shared_thread.load_own() == mark) return walks_[i].shared_cause.load_own();
    }
    return static_cast<size_t>(PurgeCause::bound);
  }

  size_t bytes_[purge_cause_count] = {};
  size_t calls_[purge_cause_count] = {};
  Walk walks_[walks_max];
};

// While it lives, what the calling thread purges has this cause.
class PurgeReason {
 public:
  PurgeReason(PurgeCauses& causes, PurgeCause cause) noexcept : walk_{causes.begin(cause)} {}
  ~PurgeReason() {
    if (walk_ != nullptr) walk_->shared_thread.store_release(0);
  }
  PurgeReason(const PurgeReason&) = delete;
  PurgeReason& operator=(const PurgeReason&) = delete;

 private:
  PurgeCauses::Walk* const walk_;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_PURGE_CAUSES_HPP
