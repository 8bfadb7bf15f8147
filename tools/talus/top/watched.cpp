// SPDX-License-Identifier: MIT
//
// Owns: see watched.hpp.
// Invariant: see watched.hpp.
// Must not know: how rows are shown.

#include "top/watched.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <sstream>

#include "command.hpp"
#include "file_text.hpp"
#include "proc_text.hpp"

namespace talus::tool {
namespace {

using Id = core::StatisticId;

constexpr size_t history_max = 240;
constexpr auto retry_after = std::chrono::seconds(5);  // a program may execute another one

// The start of a process, by which it differs from another one of the same id; 0: it has ended.
uint64_t start_of(int pid) {
  const std::string text = text_of_file(fmt::format("/proc/{}/stat", pid)).value_or("");
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(text.substr(end + 1));
  constexpr int words_before = 19;
  std::string word;
  for (int i = 0; i < words_before; i++) rest >> word;
  uint64_t start = 0;
  rest >> start;
  return start;
}

std::string name_of(int pid) {
  const std::string name = process_name(std::to_string(pid));
  return name.empty() ? "?" : printable(name);
}

std::string user_of(int pid) {
  struct stat file {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &file) != 0) return "?";
  return printable(user_name(file.st_uid));
}

uint64_t free_of(const Numbers& numbers) {
  if (!numbers.values[static_cast<size_t>(Id::resident_total_bytes)]) {
    return numbers.get(Id::heap_free_bytes) + numbers.get(Id::heap_listed_bytes) +
           numbers.get(Id::heap_remote_bytes) + numbers.get(Id::heap_kept_bytes) +
           numbers.get(Id::space_retained_bytes);
  }
  return numbers.get(Id::resident_free_bytes) + numbers.get(Id::resident_listed_bytes) +
         numbers.get(Id::resident_remote_bytes) + numbers.get(Id::resident_kept_bytes) +
         numbers.get(Id::resident_retained_bytes);
}

}  // namespace

void Watched::look() {
  rows_.clear();
  refused_ = 0;
  for (auto& [pid, known] : known_) known.is_seen = false;
  for (const int pid : process_ids()) {
    const uint64_t start = start_of(pid);
    if (start == 0) continue;
    Known& known = known_[pid];
    if (known.start != start) known = Known{};
    known.start = start;
    known.is_seen = true;
    if (Clock::now() >= known.look_next) look_at(pid, known);
    refused_ += known.is_refused ? 1 : 0;
  }
  std::erase_if(known_, [](const auto& entry) { return !entry.second.is_seen; });
}

void Watched::look_at(int pid, Known& known) {
  Observation seen = observe_process(pid);
  known.is_refused = seen.result == ObserveResult::refused;
  if (seen.numbers.empty()) {
    known.look_next = Clock::now() + retry_after;
    return;
  }
  WatchedRow row;
  row.pid = pid;
  row.name = name_of(pid);
  row.user = user_of(pid);
  row.rss = seen.numbers.front().get(Id::process_resident_bytes);
  const uint64_t faults = seen.numbers.front().get(Id::process_minor_faults) +
                          seen.numbers.front().get(Id::process_major_faults);
  uint64_t allocated = 0, refills = 0;
  bool is_counted = false;
  for (const Numbers& numbers : seen.numbers) {
    row.live += numbers.get(Id::heap_live_bytes);
    row.free += free_of(numbers);
    allocated += numbers.get(Id::calls_requested_bytes);
    is_counted = is_counted || numbers.values[static_cast<size_t>(Id::calls_allocations)];
    for (const HeapNumbers& heap : numbers.heaps) refills += heap.refills;
  }
  const Clock::time_point now = Clock::now();
  if (known.has_look) {
    const double seconds = std::chrono::duration<double>(now - known.looked).count();
    const auto rate = [seconds](uint64_t before, uint64_t after) {
      return after > before ? static_cast<double>(after - before) / seconds : 0.0;
    };
    row.faults = rate(known.faults, faults);
    row.refills = rate(known.refills, refills);
    if (is_counted && known.is_counted) row.allocated_bytes = rate(known.allocated, allocated);
  }
  known.has_look = true;
  known.looked = now;
  known.allocated = allocated;
  known.refills = refills;
  known.faults = faults;
  known.is_counted = is_counted;
  known.history.push_back(row.rss);
  if (known.history.size() > history_max) known.history.pop_front();
  row.history = known.history;
  row.numbers = std::move(seen.numbers);
  rows_.push_back(std::move(row));
}

}  // namespace talus::tool
