// SPDX-License-Identifier: MIT
//
// Owns: see sight.hpp.
// Invariant: see sight.hpp.
// Must not know: which view shows it.

#include "why/sight.hpp"

#include <filesystem>

#include "command.hpp"
#include "proc_text.hpp"

namespace talus::tool {
namespace {

constexpr int looks_max = 4;

uint64_t sum_of(const std::vector<MappedArea>& areas) {
  uint64_t bytes = 0;
  for (const MappedArea& area : areas) bytes += area.resident_bytes;
  return bytes;
}

std::string name_of(const Target& target) {
  if (!target.is_process) return std::filesystem::path(target.path).filename().string();
  const std::string name = process_name(std::to_string(target.pid));
  return name.empty() ? "?" : name;
}

// Mappings before and behind the look, until both have the same sum.
Observation look(const Target& target, std::vector<MappedArea>& areas) {
  for (int i = 0;; i++) {
    if (target.is_process) areas = read_areas(target.pid);
    Observation seen = observe(target, Detail::pieces);
    if (!target.is_process) return seen;
    const uint64_t before = sum_of(areas);
    areas = read_areas(target.pid);
    // A process that allocates meanwhile has no quiet moment to wait for.
    const bool is_busy = seen.numbers.empty() || !seen.numbers.front().is_consistent;
    if (is_busy || sum_of(areas) == before || i + 1 == looks_max) return seen;
  }
}

}  // namespace

Sight see(const Target& target) {
  Sight sight;
  sight.seen = look(target, sight.areas);
  if (!sight.seen.note.empty()) complain("note: " + sight.seen.note);
  if (!sight.seen.message.empty()) complain(sight.seen.message);
  if (!sight.is_seen()) return sight;
  const Numbers& first = sight.seen.numbers.front();
  const uint64_t id = first.get(core::StatisticId::process_id);
  sight.title = {name_of(target), id, first.version, true, "", {}};
  for (const Numbers& numbers : sight.seen.numbers) {
    if (numbers.is_consistent) continue;
    sight.title.is_consistent = false;
    sight.title.why_not = numbers.why_not;
  }
  sight.picture = make_picture(sight.seen.numbers, sight.areas,
                               target.is_process ? page_table_bytes(target.pid) : 0);
  return sight;
}

}  // namespace talus::tool
