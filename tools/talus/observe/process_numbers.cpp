// SPDX-License-Identifier: MIT
//
// Owns: see process_numbers.hpp.
// Invariant: see process_numbers.hpp.
// Must not know: heaps.

#include "observe/process_numbers.hpp"

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

#include "file_text.hpp"
#include "observe/memory.hpp"
#include "proc_text.hpp"

namespace talus::tool {
namespace {

using Id = core::StatisticId;

// The words of /proc/PID/stat behind the program's name, which may have blanks. The first is the
// state.
std::vector<std::string> stat_words(int pid) {
  const std::string text = text_of_file(fmt::format("/proc/{}/stat", pid)).value_or("");
  const size_t end = text.rfind(')');
  std::vector<std::string> words;
  if (end == std::string::npos) return words;
  std::istringstream rest(text.substr(end + 1));
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

std::optional<uint64_t> word_as_number(const std::vector<std::string>& words, size_t index) {
  uint64_t number = 0;
  if (index >= words.size() || !(std::istringstream(words[index]) >> number)) return {};
  return number;
}

std::optional<uint64_t> ticks_as_ms(std::optional<uint64_t> ticks) {
  const long a_second = ::sysconf(_SC_CLK_TCK);
  if (!ticks || a_second <= 0) return {};
  return *ticks * 1000 / static_cast<uint64_t>(a_second);
}

}  // namespace

void read_process(int pid, const std::string& folder, Numbers& numbers) {
  const auto own_status = named_lines(fmt::format("/proc/{}/status", pid));
  const auto status = named_lines(folder + "/status");
  const std::vector<std::string> words = stat_words(pid);
  numbers[Id::process_id] = own_id_in(own_status).value_or(static_cast<uint64_t>(pid));
  numbers[Id::process_user_ms] = ticks_as_ms(word_as_number(words, 11));
  numbers[Id::process_system_ms] = ticks_as_ms(word_as_number(words, 12));
  numbers[Id::process_minor_faults] = word_as_number(words, 7);
  numbers[Id::process_major_faults] = word_as_number(words, 9);
  numbers[Id::process_resident_peak_bytes] = number_in(status, "VmHWM", 1024);
  auto resident = number_in(named_lines(folder + "/smaps_rollup"), "Rss", 1024);
  if (!resident) resident = number_in(status, "VmRSS", 1024);
  numbers[Id::process_resident_bytes] = resident;
}

void set_uptime(uint64_t started_ns, Numbers& numbers) {
  timespec now{};
  if (started_ns == 0 || ::clock_gettime(CLOCK_MONOTONIC, &now) != 0) return;
  const uint64_t now_ns =
      static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  if (now_ns >= started_ns) numbers[Id::process_uptime_ms] = (now_ns - started_ns) / 1000000;
}

std::string why_refused(int pid) {
  const std::string process = memory_folder(pid);
  struct stat file {};
  const auto status = named_lines(process + "/status");
  const auto owner = number_in(status, "Uid");
  if (!owner || ::stat((process + "/maps").c_str(), &file) != 0) return "no such process";
  if (*owner != ::geteuid() && ::geteuid() != 0) {
    return fmt::format("it belongs to the user {}: run the command as that user, or as root",
                       user_name(static_cast<unsigned>(*owner)));
  }
  if (file.st_uid != *owner) {
    return "it is not dumpable: it gained privileges at its start, or forbids readers by "
           "prctl(PR_SET_DUMPABLE); run the command as root";
  }
  const std::string scope =
      text_of_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0").substr(0, 1);
  if (scope != "0" && !scope.empty()) {
    return fmt::format("Yama (kernel.yama.ptrace_scope={}) lets only {} look into it; {}", scope,
                       scope == "1"   ? "its parents"
                       : scope == "2" ? "root"
                                      : "no process",
                       scope == "1"
                           ? "use sudo, or start the command from a parent of the process, or the "
                             "process with TALUS_OBSERVERS=any"
                       : scope == "2" ? "use sudo"
                                      : "the system must be started with another setting");
  }
  return "the kernel allows it to no process here: a filter of system calls, a container or a "
         "security module forbids process_vm_readv";
}

int shares_memory_with(int pid, int thread) {
  const auto parent = word_as_number(stat_words(pid), 1);
  if (!parent || *parent == 0) return 0;
  const int other = static_cast<int>(*parent);
  return ::syscall(SYS_kcmp, thread, other, KCMP_VM, 0, 0) == 0 ? other : 0;
}

}  // namespace talus::tool
