// SPDX-License-Identifier: MIT
// entry/copies: _Fork, which copies the process without the fork handlers.
//
// The child of a process of one thread may allocate. The helper is a second thread that the program
// does not know, so it is ended before the copy.
//
// Owns: the name in libtalus.so, which interposes libc. Called on: any thread, also in signal
// handlers and in children of vfork.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "threads/helper.hpp"
#include "entry/next_definition.hpp"
#include "entry/without_helper.hpp"

namespace {

using Fork = pid_t();

talus::core::Atomic<Fork*> shared_next_copy;  // null: not looked up yet

// Where libc has no _Fork, callers know it only by Talus' name.
pid_t copy_by_kernel() {
  namespace arch = talus::core::arch;
  constexpr long first = arch::has_clone_flags_first ? SIGCHLD : 0, second = SIGCHLD - first;
  return static_cast<pid_t>(
      talus::core::answer_of_kernel(arch::system_call(SYS_clone, first, second, 0, 0, 0, 0)));
}

TALUS_COLD Fork* find_next_copy() noexcept {
  const uintptr_t found = talus::core::next_definition("_Fork", &shared_next_copy);
  auto* next = found != 0 ? reinterpret_cast<Fork*>(found) : &copy_by_kernel;
  shared_next_copy.store_init(next);  // all threads find the same
  return next;
}

}  // namespace

extern "C" TALUS_EXPORT pid_t talus_fork_alone() noexcept asm("_Fork");
pid_t talus_fork_alone() noexcept {
  talus::core::end_helper_before_copy();
  Fork* const known = shared_next_copy.load_init();
  const pid_t child = known != nullptr ? known() : find_next_copy()();
  // As after fork: a helper of the child belongs to the child.
  if (child == 0) talus::core::helper.process_id.store_init(0);
  return child;
}
