// SPDX-License-Identifier: MIT
// process/faults: says what a mode knows of an address before a fault ends the process.
//
// Owns: a handler of SIGSEGV, installed only in a mode whose blocks fault. Invariants: it writes at
// most one line, allocates nothing and takes no lock. It runs on the thread's alternate stack, if
// one exists. The previous action runs next, so signal, core file and exit status do not change. A
// program that sets a handler later replaces it. Called on: the thread that faults. Must not know:
// the words of the report (modes/mapped_report.hpp).
#ifndef TALUS_PROCESS_FAULTS_HPP
#define TALUS_PROCESS_FAULTS_HPP

#include <signal.h>

#include "base/base.hpp"
#include "os/os.hpp"
#include "modes/mapped.hpp"
#include "modes/mapped_report.hpp"

namespace talus::core {

struct FaultWatch {
  struct sigaction before;  // constant while the handler is installed
  bool is_on;               // written at start and end only
};
TALUS_CONSTINIT inline FaultWatch fault_watch = {};

// Does what would have happened without the handler.
inline void pass_fault_on(int signal, siginfo_t* info, void* context) noexcept {
  const struct sigaction& before = fault_watch.before;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  const bool is_sent = info->si_code <= 0;  // sent by a process: it does not recur by itself
  if (before.sa_handler == SIG_IGN && is_sent) return;
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    return before.sa_handler(signal);
  }
  sigaction(signal, &before, nullptr);
  if (is_sent) os::System::send_here(signal);
}

inline void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  mapped::Line line;
  const bool is_fault = info->si_code > 0;
  if (is_fault && mapped::describe_fault(line, reinterpret_cast<uintptr_t>(info->si_addr))) {
    os::System::write_error(line.data(), line.length());
  }
  pass_fault_on(signal, info, context);
}

inline void watch_faults() noexcept {
  if (fault_watch.is_on || sigaction(SIGSEGV, nullptr, &fault_watch.before) != 0) return;
  struct sigaction action = fault_watch.before;  // for its mask and SA_RESTART
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (action.sa_flags & (SA_NODEFER | SA_RESTART));
  action.sa_sigaction = on_fault;
  fault_watch.is_on = sigaction(SIGSEGV, &action, nullptr) == 0;
}

// Before the code is unloaded. A handler that the program set later stays.
inline void forget_faults() noexcept {
  if (!fault_watch.is_on) return;
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != on_fault) return;
  sigaction(SIGSEGV, &fault_watch.before, nullptr);
  fault_watch.is_on = false;
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_FAULTS_HPP
