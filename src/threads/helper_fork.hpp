// SPDX-License-Identifier: MIT
// threads/helper_fork: the background thread in the child of a fork, which does not have it.
//
// Owns: what the child forgets of it. Invariants: a child believes in no helper that it does not
// have, and executes no command that was left for its parent. Called on: the only thread of the
// child. Must not know: how the helper works.
#ifndef TALUS_THREADS_HELPER_FORK_HPP
#define TALUS_THREADS_HELPER_FORK_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/purge_request.hpp"
#include "threads/helper.hpp"
#include "threads/helper_thread.hpp"
#include "threads/mailbox.hpp"

namespace talus::core {

// Called in the child of a fork, at once: later the caller might be a child of vfork. Where a
// filter was announced, it may forbid the call. Then the id stays unknown and no helper starts
// again.
inline void learn_process_id() noexcept {
  helper.mailbox.forget();
  if (helper.process_id.load_init() == 0) return;
  const bool may_ask = helper.shared_is_allowed.load_init();
  const long id = may_ask ? os::System::process_id() : 0;
  helper.process_id.store_init(static_cast<uint32_t>(id));
}

// The child of a fork has no helper.
inline void forget_helper_thread() noexcept {
  purge_request.is_served.store_init(false);
  // ThreadSanitizer cannot make threads in the child of a process that has threads.
  if constexpr (TALUS_UNDER_TSAN != 0) helper.shared_is_allowed.store_init(false);
  learn_process_id();
  // Already so, except on kernels that cannot clear memory for children.
  HelperLife* life = helper.shared_life.load_acquire();
  if (life == nullptr) return;
  life->process_id.store_init(helper.process_id.load_init());
  if (life->shared_state.load_acquire() == HelperState::absent) return;
  life->shared_id.store_init(0);
  life->last_id.store_init(0);
  life->is_joinable.store_init(false);
  life->shared_state.store_init(HelperState::absent);
}
// The prepare handler held all its locks. A single thread needs none.
inline void forget_helper() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  helper.lock.reset_in_child();
  helper.pass.reset_in_child();
  helper.holds = 0;
  forget_helper_thread();
}

}  // namespace talus::core

#endif  // TALUS_THREADS_HELPER_FORK_HPP
