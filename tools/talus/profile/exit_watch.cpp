// SPDX-License-Identifier: MIT
//
// Owns: see exit_watch.hpp. The kernel stops a traced process at its exit (PTRACE_O_TRACEEXIT).
// Invariant: see exit_watch.hpp.
// Must not know: see exit_watch.hpp.

#include "profile/exit_watch.hpp"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace talus::tool {
namespace {

volatile pid_t forward_to = 0;
void forward(int number) {
  if (forward_to > 0) ::kill(forward_to, number);
}

// The terminal signals the child itself.
void forward_signals(pid_t child) {
  forward_to = child;
  struct sigaction action {};
  action.sa_handler = forward;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    ::sigaction(number, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  for (const int number : {SIGINT, SIGQUIT}) ::sigaction(number, &action, nullptr);
}

ExitMoment moment_of(pid_t child) {
  ExitMoment moment;
  moment.pid = child;
  unsigned long status = 0;
  if (::ptrace(PTRACE_GETEVENTMSG, child, nullptr, &status) == 0) {
    moment.status = static_cast<int>(status);
  }
  user_regs_struct registers{};
  iovec place{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &place) != 0) return moment;
  std::memcpy(moment.registers, &registers, std::min(sizeof registers, sizeof moment.registers));
#if defined(__x86_64__)
  moment.stack_top = registers.rsp;
#else
  moment.stack_top = registers.sp;
#endif
  return moment;
}

// The child waits until it is traced, and sees at the end of the pipe that it never will be.
pid_t start_traced(const std::function<int()>& start) {
  int gate[2];
  if (::pipe(gate) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    char ready = 0;
    ::close(gate[1]);
    const bool is_traced = ::read(gate[0], &ready, 1) == 1;
    ::close(gate[0]);
    ::_exit(is_traced ? start() : 127);
  }
  ::close(gate[0]);
  bool is_good = child > 0 && ::ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_TRACEEXIT) == 0;
  const int error = errno;
  is_good = is_good && ::write(gate[1], "r", 1) == 1;
  ::close(gate[1]);
  if (is_good) return child;
  if (child > 0) ::waitpid(child, nullptr, 0);
  errno = error;
  return -1;
}

// Lets a stopped child go on as it would untraced.
void go_on(pid_t child, int status) {
  const int event = status >> 16, number = WSTOPSIG(status);
  const bool is_group_stop = event == PTRACE_EVENT_STOP && number != SIGTRAP;
  const long signal_sent = event == 0 ? number : 0;
  ::ptrace(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, child, nullptr, signal_sent);
}

}  // namespace

Watched watch_until_exit(const std::function<int()>& start,
                         const std::function<void(const ExitMoment&)>& at_exit) {
  Watched watched;
  const pid_t child = start_traced(start);
  if (child < 0) return {-1, false};
  forward_signals(child);
  for (int status = 0;;) {
    if (::waitpid(child, &status, __WALL) < 0) {
      if (errno == EINTR) continue;
      return {-1, watched.has_stopped};
    }
    if (WIFEXITED(status)) watched.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) watched.code = 128 + WTERMSIG(status);
    if (!WIFSTOPPED(status)) return watched;
    if (status >> 16 == PTRACE_EVENT_EXIT) {
      at_exit(moment_of(child));
      watched.has_stopped = true;
    }
    go_on(child, status);
  }
}

}  // namespace talus::tool
