// SPDX-License-Identifier: MIT
//
// Owns: see wake.hpp.
// Invariant: see wake.hpp.
// Must not know: see wake.hpp.

#include "control/wake.hpp"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <string>

#include "file_text.hpp"

namespace talus::tool {
namespace {

constexpr int stop_waits = 500;  // of a millisecond; a thread within a long system call stops late

// The last number of the line NSpid, which is the one in the innermost namespace; 0: unknown.
unsigned innermost_id(const std::string& status) {
  std::istringstream lines(text_of_file(status).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("NSpid:", 0) != 0) continue;
    std::istringstream numbers(line.substr(6));
    unsigned last = 0;
    for (unsigned number = 0; numbers >> number;) last = number;
    return last;
  }
  return 0;
}

void sleep_a_millisecond() {
  const timespec span{0, 1000000};
  ::nanosleep(&span, nullptr);
}

}  // namespace

int thread_of(int pid, unsigned own_id) {
  std::error_code lost;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), lost)) {
    const std::string name = entry.path().filename();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread == pid) continue;
    if (innermost_id(entry.path() / "status") == own_id) return thread;
  }
  return 0;
}

bool interrupt_thread(int thread) {
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return false;
  bool is_stopped = ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0;
  int status = 0;
  for (int wait = 0; is_stopped && ::waitpid(thread, &status, __WALL | WNOHANG) == 0; wait++) {
    if (wait == stop_waits) is_stopped = false;
    sleep_a_millisecond();
  }
  if (!is_stopped || !WIFSTOPPED(status)) return false;
  // A signal that came at the same moment is delivered as if nothing had happened.
  const bool is_signal = status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP;
  ::ptrace(PTRACE_DETACH, thread, nullptr, is_signal ? static_cast<long>(WSTOPSIG(status)) : 0L);
  return true;
}

}  // namespace talus::tool
