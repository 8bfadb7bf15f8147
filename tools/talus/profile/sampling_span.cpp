// SPDX-License-Identifier: MIT
//
// Owns: see sampling_span.hpp.
// Invariant: see sampling_span.hpp.
// Must not know: see sampling_span.hpp.

#include "profile/sampling_span.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "command.hpp"
#include "control/mailbox.hpp"

namespace talus::tool {
namespace {

volatile sig_atomic_t is_interrupted = 0;
void note_interrupt(int) { is_interrupted = 1; }

// False: it was not done, and a line says why.
bool switch_samples(int pid, const TalusCopy& copy, uint64_t mean_bytes) {
  constexpr double wait_s = 2;
  const Answer answer = send_order(pid, copy, {core::CommandId::profile, mean_bytes, ""}, wait_s);
  if (answer.delivery == Delivery::answered && answer.result == core::CommandResult::done) {
    return true;
  }
  complain(fmt::format("process {}: {}", pid,
                       answer.delivery == Delivery::answered
                           ? "it does not take the command; `talus ctl` says why"
                           : "no thread took the command within 2 s; `talus ctl PID profile on` "
                             "can wait longer"));
  return false;
}

}  // namespace

bool SamplingSpan::begin(uint64_t mean_bytes, bool was_on) {
  if (was_on) return true;
  is_to_end_ = switch_samples(source_.target().pid, source_.copy(), mean_bytes);
  return is_to_end_;
}
// A process that has ended needs nothing.
void SamplingSpan::end() {
  const int pid = source_.target().pid;
  if (is_to_end_ && ::kill(pid, 0) == 0) switch_samples(pid, source_.copy(), 0);
  is_to_end_ = false;
}

bool wait_for_process(double seconds, int pid) {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (is_interrupted == 0 && ::kill(pid, 0) == 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return true;
    ::poll(nullptr, 0, static_cast<int>(std::min<int64_t>(left.count(), 100)));
  }
  return is_interrupted == 0;
}

}  // namespace talus::tool
