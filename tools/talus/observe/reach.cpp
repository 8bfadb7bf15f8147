// SPDX-License-Identifier: MIT
//
// Owns: see reach.hpp.
// Invariant: see reach.hpp.
// Must not know: see reach.hpp.

#include "observe/reach.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "file_text.hpp"
#include "observe/process_numbers.hpp"

namespace talus::tool {
namespace {

Reached unreachable(ObserveResult result, int pid, const std::string& why) {
  return {result, fmt::format("process {}: {}", pid, why), {}};
}

}  // namespace

Reached reach_process(int pid, const ProcessMemory& memory) {
  const std::string process = fmt::format("/proc/{}", pid);
  std::optional<std::string> maps = text_of_file(memory.folder() + "/maps");
  if (!maps || maps->empty()) {  // that thread may have ended since
    errno = 0;
    maps = text_of_file(memory_folder(pid) + "/maps");
  }
  const int error = errno;
  std::error_code lost;
  if (!std::filesystem::exists(process, lost)) {
    return unreachable(ObserveResult::no_process, pid, "no such process");
  }
  if (!maps && (error == EACCES || error == EPERM)) {
    return unreachable(ObserveResult::refused, pid, why_refused(pid));
  }
  if (!maps || maps->empty()) {
    return unreachable(ObserveResult::no_process, pid,
                       "has no memory: it has ended, or is a kernel thread");
  }
  Reached reached;
  reached.mappings = read_mappings(*maps);
  const std::vector<Mapping>& mappings = reached.mappings;
  const int refusal = memory.why_not(mappings.empty() ? 0 : mappings.front().begin);
  if (refusal == EPERM || refusal == ENOSYS) {
    return unreachable(ObserveResult::refused, pid, why_refused(pid));
  }
  try {
    reached.found = find_copies(memory, mappings);
  } catch (const Lost& gone) {
    return unreachable(ObserveResult::no_process, pid, gone.what());
  }
  if (!reached.found.copies.empty()) return reached;
  const std::string& note = reached.found.note;
  return unreachable(ObserveResult::not_talus, pid, note.empty() ? "no Talus in it" : note);
}

}  // namespace talus::tool
