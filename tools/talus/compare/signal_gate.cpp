// SPDX-License-Identifier: MIT
//
// Owns: the descriptor that receives signals, see signal_gate.hpp. SIGCHLD is among them, so that
// one poll waits for output, for the end of the program and for Ctrl-C, on every kernel.
// Invariant: SIGCHLD is not ignored here, since the kernel would then discard the cost of a child.
// Must not know: the program that runs.

#include "signal_gate.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace talus::tool {

SignalGate::SignalGate() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now;
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&held, number);
  }
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &held, &mask_before_);
  descriptor_ = ::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalGate::~SignalGate() {
  if (descriptor_ >= 0) ::close(descriptor_);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void SignalGate::read_all() {
  signalfd_siginfo signal;
  while (::read(descriptor_, &signal, sizeof signal) == sizeof signal) {
    const int number = static_cast<int>(signal.ssi_signo);
    if (number != SIGCHLD && stopped_by_ == 0) stopped_by_ = number;
  }
}

}  // namespace talus::tool
