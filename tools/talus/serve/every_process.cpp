// SPDX-License-Identifier: MIT
//
// Owns: see every_process.hpp.
// Invariant: see every_process.hpp.
// Must not know: see every_process.hpp.

#include "serve/every_process.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "observe/observe.hpp"
#include "proc_text.hpp"

namespace talus::tool {

bool is_own_process(int pid) {
  struct stat facts {};
  const bool is_there = ::stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0;
  return is_there && facts.st_uid == ::geteuid() && pid != ::getpid();
}

std::vector<Numbers> look_at_every_process() {
  std::vector<Numbers> all;
  for (const int pid : process_ids()) {
    if (!is_own_process(pid)) continue;
    const std::string number = std::to_string(pid);
    const std::string name = process_name(number);
    Observation seen = observe_process(pid, Detail::numbers);
    for (Numbers& numbers : seen.numbers) {
      numbers.labels = {{"pid", number}, {"comm", name}};
      if (seen.numbers.size() > 1) numbers.labels.emplace_back("object", numbers.object);
      all.push_back(std::move(numbers));
    }
  }
  return all;
}

}  // namespace talus::tool
