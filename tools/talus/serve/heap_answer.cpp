// SPDX-License-Identifier: MIT
//
// Owns: see heap_answer.hpp.
// Invariant: see heap_answer.hpp.
// Must not know: see heap_answer.hpp.

#include "serve/heap_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "proc_text.hpp"
#include "profile/code_names.hpp"
#include "profile/heap_source.hpp"
#include "profile/pprof.hpp"
#include "serve/every_process.hpp"

namespace talus::tool {
namespace {

constexpr int bad_request = 400, not_found = 404;

// Null: it has no Talus, or may not be read.
std::unique_ptr<HeapSource> reach(int pid, std::string& why) {
  int code = 0;
  return HeapSource::reach(process_target(pid), DebugFiles{}, why, code);
}

// Those that have a profile.
std::vector<int> profiled_processes() {
  std::vector<int> found;
  for (const int pid : process_ids()) {
    if (!is_own_process(pid)) continue;
    try {
      std::string why;
      const auto source = reach(pid, why);
      if (source != nullptr && source->read().mean_bytes != 0) found.push_back(pid);
    } catch (const std::runtime_error&) {
      continue;  // it ended meanwhile, or its Talus is older
    }
  }
  return found;
}

HeapAnswer profile_of(int pid, ProfileView view) {
  std::string why;
  const auto source = reach(pid, why);
  if (source == nullptr) return {not_found, why + "\n"};
  const Samples samples = source->read();
  if (samples.mean_bytes == 0) {
    return {not_found, fmt::format("process {} has no profile; `talus ctl {} profile on` begins "
                                   "one, and so does a start with TALUS_PROFILE=512KiB\n",
                                   pid, pid)};
  }
  HeapAnswer answer;
  std::string pprof;
  source->named_of(samples, 0, view, &pprof);
  answer.body = gzipped(pprof);
  return answer;
}

std::optional<int> number_of(const std::string& text) {
  const bool is_number = !text.empty() && text.size() < 10 &&
                         std::all_of(text.begin(), text.end(),
                                     [](char letter) { return letter >= '0' && letter <= '9'; });
  if (!is_number) return {};
  return std::stoi(text);
}

}  // namespace

HeapAnswer heap_answer(const std::map<std::string, std::string>& asked, ProfileView view) {
  if (asked.contains("seconds")) {
    return {bad_request, "there is no profile of a span here; compare two of them\n"};
  }
  try {
    if (asked.contains("pid")) {
      const std::optional<int> pid = number_of(asked.at("pid"));
      if (!pid) return {bad_request, "pid is no process id\n"};
      if (!is_own_process(*pid)) return {not_found, "no such process of the user\n"};
      return profile_of(*pid, view);
    }
    const std::vector<int> found = profiled_processes();
    if (found.size() == 1) return profile_of(found.front(), view);
    std::string text = found.empty() ? "no process of the user has a profile\n"
                                     : "several processes have profiles; ask for one:\n";
    for (const int pid : found) text += fmt::format("?pid={}\n", pid);
    return {found.empty() ? not_found : bad_request, text};
  } catch (const std::runtime_error& error) {
    return {not_found, fmt::format("{}\n", error.what())};
  }
}

}  // namespace talus::tool
