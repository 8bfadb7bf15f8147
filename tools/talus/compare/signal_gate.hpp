// SPDX-License-Identifier: MIT
//
// Owns: the signals of a comparison. While the gate exists, Ctrl-C, hang-up, a request to end and
// the death of a child do not interrupt the command. They wait at a descriptor.
// Invariant: a signal that was ignored at the start (nohup, a background job) stays ignored. The
// program runs with the signal mask of the command's start.
// Must not know: the effect of a signal.

#ifndef TALUS_TOOLS_TALUS_COMPARE_SIGNAL_GATE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_SIGNAL_GATE_HPP

#include <csignal>

namespace talus::tool {

class SignalGate {
 public:
  SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;
  ~SignalGate();

  int descriptor() const { return descriptor_; }  // readable when a signal waits

  // Reads all signals that wait at the gate.
  void read_all();

  int stopped_by() const { return stopped_by_; }  // the first request to end; 0: none
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  sigset_t mask_before_;  // constant
  int descriptor_;        // constant; -1: the kernel refused
  int stopped_by_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_SIGNAL_GATE_HPP
