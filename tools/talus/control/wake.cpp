// SPDX-License-Identifier: MIT
//
// Owns: see wake.hpp.
// Invariant: see wake.hpp.
// Must not know: see wake.hpp.

#include "control/wake.hpp"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "proc_text.hpp"

namespace talus::tool {
namespace {

constexpr int stop_waits = 500;  // of a millisecond; a thread within a long system call stops late

}  // namespace

int thread_of(int pid, unsigned own_id) {
  std::error_code lost;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), lost)) {
    const std::string name = entry.path().filename();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread == pid) continue;
    if (own_id_in(named_lines(entry.path() / "status")) == own_id) return thread;
  }
  return 0;
}

bool interrupt_thread(int thread) {
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return false;
  bool is_stopped = ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0;
  int status = 0;
  for (int wait = 0; is_stopped && ::waitpid(thread, &status, __WALL | WNOHANG) == 0; wait++) {
    if (wait == stop_waits) is_stopped = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!is_stopped || !WIFSTOPPED(status)) return false;
  // A signal that came at the same moment is delivered as if nothing had happened.
  const bool is_signal = status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP;
  ::ptrace(PTRACE_DETACH, thread, nullptr, is_signal ? static_cast<long>(WSTOPSIG(status)) : 0L);
  return true;
}

}  // namespace talus::tool
