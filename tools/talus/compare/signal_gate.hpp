// SPDX-License-Identifier: MIT
//
// Owns: the signals of a comparison. From the gate's making to its end, Ctrl-C, hang-up, the wish
// to end and the death of a child do not interrupt us: they wait at a descriptor to be read.
// Invariant: a signal that was ignored when we were started (nohup, a job in the background) stays
// ignored; the program runs with the mask we were started with.
// Must not know: what a signal will lead to.

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

  // Takes what waits at the gate.
  void read_all();

  int stopped_by() const { return stopped_by_; }  // the first signal that asked us to end; 0: none
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  sigset_t mask_before_;  // constant
  int descriptor_;        // constant; -1: the kernel refused
  int stopped_by_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_SIGNAL_GATE_HPP
