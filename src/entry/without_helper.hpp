// SPDX-License-Identifier: MIT
// entry/without_helper: calls of the kernel that must find no helper, and where they go next.
//
// Owns: the pieces from which libtalus.so makes its guards (credentials.cpp, system_call.cpp,
// copies.cpp). Invariant: errno is the next function's. Called on: any thread, also in the child of
// a vfork, whose memory and helper are its parent's. Must not know: which calls are guarded.
#ifndef TALUS_ENTRY_WITHOUT_HELPER_HPP
#define TALUS_ENTRY_WITHOUT_HELPER_HPP

#include <errno.h>
#include <sys/prctl.h>

#include "base/base.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "threads/helper.hpp"
#include "threads/helper_thread.hpp"
#include "threads/library_parts.hpp"
#include "threads/threads.hpp"
#include "entry/life.hpp"  // IWYU pragma: keep (start and end of the process)

namespace talus::core {

inline bool has_other_threads() noexcept {
  const char* const single_threaded = talus_library_parts.single_threaded;
  return single_threaded != nullptr && *single_threaded == 0;
}

// Keeps the helper away while it lives. In the child of a vfork it leaves the parent's helper
// alone.
class WithoutHelper {
 public:
  WithoutHelper() noexcept : is_needed_{!is_without_helper() && !is_memory_borrowed()} {
    if (!is_needed_) return;
    end_helper(Ended::held);
    wait_until_helper_is_gone();
  }
  ~WithoutHelper() {
    if (is_needed_) permit_helper();
  }
  WithoutHelper(const WithoutHelper&) = delete;
  WithoutHelper& operator=(const WithoutHelper&) = delete;

 private:
  const bool is_needed_;
};

// True when this prctl means that the process is about to allow itself few calls.
inline bool enters_sandbox(long option, size_t value) noexcept {
  return option == PR_SET_SECCOMP || (option == PR_SET_NO_NEW_PRIVS && value != 0);
}
// The process is about to allow itself few calls. From here on it has no helper, and Talus makes no
// call that filters seldom allow.
inline void end_helper_before_filter() noexcept {
  if (rare_calls.are_forbidden() && is_without_helper()) return;  // a filter may be set already
  if (is_memory_borrowed()) return;
  forbid_rare_calls();
  end_helper(Ended::for_ever);
  wait_until_helper_is_gone();
}

// Signal handlers may copy the process too. A helper that still exists after this long waits for a
// lock of the interrupted thread. The child of such a handler may not allocate.
inline constexpr uint64_t copy_patience_ms = 1000;

// The process is about to be copied without the fork handlers. The child of a process of one thread
// may allocate, so the helper must not be inside an operation. No other thread can start a helper
// before the copy. If the lock is held, its holder is this thread, interrupted.
inline void end_helper_before_copy() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  if (life == nullptr || life->shared_state.load_acquire() == HelperState::absent) return;
  if (has_other_threads() || is_memory_borrowed()) return;
  const uint64_t mask = os::System::block_signals();
  if (helper.lock.try_lock()) {
    end_locked(*life, copy_patience_ms);
    helper.lock.unlock();
  }
  os::System::restore_signals(mask);
}

// The kernel's answer in libc's form.
inline long answer_of_kernel(long result) noexcept {
  if (static_cast<unsigned long>(result) < static_cast<unsigned long>(-4095l)) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace talus::core

#endif  // TALUS_ENTRY_WITHOUT_HELPER_HPP
