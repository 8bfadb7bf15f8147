// SPDX-License-Identifier: MIT
// stress/child: waiting for forked children that may hang.
//
// Owns: the alarm of a child (it dies of SIGALRM if it hangs) and the check of how it ended.
// Called on: the forking thread, and in the child alone.
#ifndef TALUS_TESTS_STRESS_CHILD_HPP
#define TALUS_TESTS_STRESS_CHILD_HPP

#include <signal.h>
#include <sys/wait.h>

#include "stress.hpp"

namespace stress {

// Longest life of a child: long enough for a machine that does three other things; a hang is one
// after any time. Sanitizers slow a fork down by copying their shadow's tables.
constexpr unsigned child_seconds_max = is_sanitized ? 60 : 20;

// Forks; the child runs body() and ends with status 0, within its time. Waits for it.
template <typename Body>
void in_child(const char* what, Body body) {
  const pid_t child = fork();
  STRESS_CHECK(child >= 0, "fork");
  if (child == 0) {
    alarm(child_seconds_max);
    body();
    _exit(0);
  }
  int status = 0;
  STRESS_CHECK(waitpid(child, &status, 0) == child, "waitpid");
  if (WIFSIGNALED(status)) {
    STRESS_CHECK(WTERMSIG(status) != SIGALRM, "%s hangs in a child", what);
    STRESS_CHECK(!WIFSIGNALED(status), "%s: a child died of signal %d", what, WTERMSIG(status));
  }
  STRESS_CHECK(WEXITSTATUS(status) == 0, "%s: status %d", what, WEXITSTATUS(status));
}

}  // namespace stress

#endif  // TALUS_TESTS_STRESS_CHILD_HPP
