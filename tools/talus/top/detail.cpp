// SPDX-License-Identifier: MIT
//
// Owns: see detail.hpp.
// Invariant: see detail.hpp.
// Must not know: which terminal shows it.

#include "top/detail.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "top/table.hpp"

namespace talus::tool {
namespace {

using Id = core::StatisticId;

constexpr size_t bar_cells = 28;
constexpr const char* tab_names[detail_tab_count] = {"Memory", "Classes",   "Threads",
                                                     "Heaps",  "Instances", "Sites"};

std::string as_short(uint64_t bytes) { return short_size(static_cast<double>(bytes)); }

void add_memory(const Terminal& terminal, const Numbers& numbers, DetailLines& detail) {
  struct Part {
    const char* label;
    Id id;
  };
  constexpr Part parts[] = {{"live, small", Id::resident_live_small_bytes},
                            {"live, large", Id::resident_live_large_bytes},
                            {"free, in thread lists", Id::resident_listed_bytes},
                            {"free, on their way", Id::resident_remote_bytes},
                            {"free, in slabs", Id::resident_free_bytes},
                            {"free, kept large blocks", Id::resident_kept_bytes},
                            {"free, retained ranges", Id::resident_retained_bytes},
                            {"metadata", Id::resident_metadata_bytes},
                            {"rest", Id::resident_rest_bytes},
                            {"not Talus'", Id::resident_not_ours_bytes}};
  const uint64_t all = numbers.get(Id::process_resident_bytes);
  detail.lines.push_back(fmt::format("{:<26}{:>12}", "resident", as_size(all)));
  for (const Part& part : parts) {
    const uint64_t bytes = numbers.get(part.id);
    detail.lines.push_back(fmt::format("  {:<24}{:>12}  {}", part.label, as_size(bytes),
                                       bar_of(terminal, bytes, all, bar_cells)));
  }
  for (const auto& [label, id] : {std::pair("resident, at most", Id::process_resident_peak_bytes),
                                  std::pair("address space reserved", Id::space_reserved_bytes),
                                  std::pair("purged so far", Id::space_purged_bytes)}) {
    detail.lines.push_back(fmt::format("{:<26}{:>12}", label, as_size(numbers.get(id))));
  }
}

void add_classes(const Terminal& terminal, const Numbers& numbers, DetailLines& detail) {
  detail.title = fmt::format("{:>8} {:>8} {:>9} {:>9} {:>9} {:>8}  {}", "CLASS", "LIVE", "LIVE N",
                             "LISTED N", "FREE N", "SLABS", "LIVE SHARE");
  std::vector<ClassNumbers> rows = numbers.classes;
  std::stable_sort(rows.begin(), rows.end(), [](const ClassNumbers& a, const ClassNumbers& b) {
    return a.values[0] * a.block_bytes > b.values[0] * b.block_bytes;
  });
  for (const ClassNumbers& row : rows) {
    const auto& [live, listed, remote, free, slabs] = row.values;
    detail.lines.push_back(fmt::format("{:>8} {:>8} {:>9} {:>9} {:>9} {:>8}  {}", row.block_bytes,
                                       as_short(live * row.block_bytes), live, listed + remote,
                                       free, slabs,
                                       bar_of(terminal, live, live + listed + remote + free, 20)));
  }
}

void add_threads(const Numbers& numbers, DetailLines& detail) {
  detail.title = fmt::format("{:>8} {:>6} {:>10} {:>10} {:>10} {:>10}", "THREAD", "HEAP", "LISTS",
                             "KEPT", "OF OTHERS", "ALLOCATED");
  for (size_t i = 0; i < numbers.threads.size(); i++) {
    const auto& [heap, lists, kept, remote, allocated] = numbers.threads[i].values;
    detail.lines.push_back(fmt::format(
        "{:>8} {:>6} {:>10} {:>10} {:>10} {:>10}", i, heap, as_short(lists), as_short(kept),
        as_short(remote), allocated == core::statistic_unknown ? "-" : as_short(allocated)));
  }
}

void add_heaps(const Terminal& terminal, const Numbers& numbers, DetailLines& detail) {
  detail.title = fmt::format("{:>6} {:>8} {:>8} {:>9} {:>9} {:>9} {:>11}  {}", "HEAP", "THREADS",
                             "SLABS", "SPACE", "TAKEN", "FREE", "REFILLS", "TAKEN SHARE");
  for (const HeapNumbers& heap : numbers.heaps) {
    detail.lines.push_back(fmt::format(
        "{:>6} {:>8} {:>8} {:>9} {:>9} {:>9} {:>11}  {}", heap.number, heap.threads, heap.slabs,
        as_short(heap.slab_bytes), as_short(heap.taken_bytes), as_short(heap.free_bytes),
        heap.refills, bar_of(terminal, heap.taken_bytes, heap.slab_bytes, 12)));
  }
}

void add_instances(const Numbers& numbers, DetailLines& detail) {
  detail.title = fmt::format("{:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}", "INSTANCE", "LIVE",
                             "FREE", "TOTAL", "PEAK", "BLOCKS", "SLABS", "NAME");
  for (const InstanceNumbers& row : numbers.instances) {
    const auto& [live, free, ends, total, peak, limit, blocks, large, slabs] = row.values;
    detail.lines.push_back(fmt::format("{:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}", row.number,
                                       as_short(live), as_short(free), as_short(total),
                                       as_short(peak), blocks, slabs, printable(row.name)));
  }
  if (numbers.instances.empty()) detail.lines.emplace_back("the program made no heaps");
}

void add(const Terminal& terminal, const Numbers& numbers, DetailTab tab, DetailLines& detail) {
  switch (tab) {
    case DetailTab::memory:
      return add_memory(terminal, numbers, detail);
    case DetailTab::classes:
      return add_classes(terminal, numbers, detail);
    case DetailTab::threads:
      return add_threads(numbers, detail);
    case DetailTab::heaps:
      return add_heaps(terminal, numbers, detail);
    case DetailTab::instances:
      return add_instances(numbers, detail);
    case DetailTab::sites:
      return;
  }
}

}  // namespace

const char* name_of(DetailTab tab) { return tab_names[static_cast<size_t>(tab)]; }

DetailLines detail_lines(const Terminal& terminal, const WatchedRow& row, DetailTab tab) {
  DetailLines detail;
  for (const Numbers& numbers : row.numbers) {
    if (row.numbers.size() > 1) detail.lines.push_back("in " + printable(numbers.object));
    if (numbers.is_damaged) {
      detail.lines.push_back(printable(numbers.why_not));
    } else {
      add(terminal, numbers, tab, detail);
    }
  }
  return detail;
}

}  // namespace talus::tool
