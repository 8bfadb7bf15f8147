// Starting this same probe again as a fresh process with something changed.
//
// Limits on addresses, closed descriptors, an empty environment or a bare root must hold before the
// allocator's first instruction. So a probe sets them between fork and exec, and runs itself again
// in a role given as its first argument. The parent waits with a deadline and kills what hangs.
// SPDX-License-Identifier: MIT
#pragma once

#include "measure.hpp"
#include "probe.hpp"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace probe {

// The child could not be prepared or executed: the machine's refusal, not the allocator's.
constexpr int exit_not_started = 126;
constexpr int exit_skipped = 77;

struct Outcome {
  int code = -1;           // exit status; -1 when a signal ended the child
  int signal_number = 0;   // the signal that ended it, or 0
  bool timed_out = false;  // it was still running at the deadline and has been killed

  bool is_ok() const { return !timed_out && signal_number == 0 && code == 0; }
};

inline Outcome wait_for(pid_t child, double seconds) {
  Outcome outcome;
  if (child < 0) return outcome;  // a kill of -1 would end all processes
  int status = 0;
  const double deadline = now_seconds() + seconds;
  while (true) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return outcome;
    if (now_seconds() > deadline) {
      outcome.timed_out = true;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return outcome;
    }
    sleep_ms(1);
  }
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal_number = WTERMSIG(status);
  return outcome;
}

// Starts the probe in a role and does not wait. `prepare` runs in the child before exec and returns
// false when the machine refuses.
template <typename Prepare>
inline pid_t launch(const char* role, Prepare prepare, char* const* environment = environ,
                    const char* program = "/proc/self/exe") {
  const pid_t child = fork();
  if (child == 0) {
    if (!prepare()) _exit(exit_not_started);
    char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(role), nullptr};
    execve(program, arguments, environment);
    _exit(exit_not_started);
  }
  return child;
}

template <typename Prepare>
inline Outcome relaunch(const char* role, double seconds, Prepare prepare,
                        char* const* environment = environ,
                        const char* program = "/proc/self/exe") {
  return wait_for(launch(role, prepare, environment, program), seconds);
}

inline void expect_ok(const Outcome& outcome, const char* what) {
  if (outcome.timed_out) fail("%s: hangs", what);
  if (outcome.signal_number != 0) {
    fail("%s: ended by signal %d (%s)", what, outcome.signal_number,
         strsignal(outcome.signal_number));
  }
  if (outcome.code > 0) fail("%s: exit status %d", what, outcome.code);
}

// Runs the probe in each of the roles at the same time, in fresh processes: for cases that measure
// memory alone and mostly wait.
template <std::size_t count>
inline void expect_ok_side_by_side(const char* const (&roles)[count], double seconds) {
  pid_t children[count];
  for (std::size_t i = 0; i < count; ++i) {
    children[i] = launch(roles[i], [] { return true; });
  }
  for (std::size_t i = 0; i < count; ++i) expect_ok(wait_for(children[i], seconds), roles[i]);
}

inline bool is_role(int argc, char** argv, const char* role) {
  return argc > 1 && std::strcmp(argv[1], role) == 0;
}

}  // namespace probe
