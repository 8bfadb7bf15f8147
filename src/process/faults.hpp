// SPDX-License-Identifier: MIT
// process/faults: says what a mode knows of an address before a fault ends the process.
//
// Owns: handlers of SIGSEGV and SIGBUS, installed only in a mode whose blocks fault, or on request.
// Invariants: they write at most one line, allocate nothing and take no lock. They run on the
// thread's alternate stack, if one exists. The previous action runs next, so signal, core file and
// exit status do not change. A program that sets a handler later replaces it. Called on: the thread
// that faults. Must not know: the words of the report (modes/mapped_report.hpp,
// modes/guarded_report.hpp).
#ifndef TALUS_PROCESS_FAULTS_HPP
#define TALUS_PROCESS_FAULTS_HPP

#include <signal.h>

#include "base/base.hpp"
#include "os/os.hpp"
#include "modes/guarded_report.hpp"
#include "modes/mapped.hpp"
#include "modes/mapped_report.hpp"

namespace talus::core {

struct FaultWatch {
  int signal = 0;                // constant
  struct sigaction before = {};  // constant while the handler is installed
  bool is_on = false;            // written at start and end only
};
TALUS_CONSTINIT inline FaultWatch fault_watches[] = {{SIGSEGV}, {SIGBUS}};

// Does what would have happened without the handler.
inline void pass_fault_on(int signal, siginfo_t* info, void* context) noexcept {
  const size_t watch = signal == fault_watches[0].signal ? 0 : 1;
  const struct sigaction& before = fault_watches[watch].before;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  const bool is_sent = info->si_code <= 0;  // sent by a process: it does not recur by itself
  if (before.sa_handler == SIG_IGN && is_sent) return;
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    return before.sa_handler(signal);
  }
  sigaction(signal, &before, nullptr);
  if (is_sent) os::System::send_here(signal);
}

inline void describe_fault(uintptr_t address) noexcept {
  mapped::Line line;
  if (mapped::describe_fault(line, address)) {
    os::System::write_error(line.data(), line.length());
  } else if (const auto* guarded_line = guarded::describe_fault(address)) {
    os::System::write_error(guarded_line->data(), guarded_line->length());
  }
}
inline void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  const bool is_fault = info->si_code > 0;
  if (is_fault) describe_fault(reinterpret_cast<uintptr_t>(info->si_addr));
  pass_fault_on(signal, info, context);
}

inline void watch_fault(FaultWatch& watch) noexcept {
  if (watch.is_on || sigaction(watch.signal, nullptr, &watch.before) != 0) return;
  struct sigaction action = watch.before;  // for its mask and SA_RESTART
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (action.sa_flags & (SA_NODEFER | SA_RESTART));
  action.sa_sigaction = on_fault;
  watch.is_on = sigaction(watch.signal, &action, nullptr) == 0;
}
inline void watch_faults() noexcept {
  for (FaultWatch& watch : fault_watches) watch_fault(watch);
}

// Before the code is unloaded. A handler that the program set later stays.
inline void forget_faults() noexcept {
  for (FaultWatch& watch : fault_watches) {
    if (!watch.is_on) continue;
    struct sigaction now {};
    sigaction(watch.signal, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != on_fault) continue;
    sigaction(watch.signal, &watch.before, nullptr);
    watch.is_on = false;
  }
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_FAULTS_HPP
