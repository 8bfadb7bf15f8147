// SPDX-License-Identifier: MIT
//
// Owns: the numbers of address space, of large blocks and of counted calls.
// Invariant: see heap_numbers.hpp.
// Must not know: pages.

#include <algorithm>
#include <array>

#include "observe/chain.hpp"
#include "observe/heap_reader.hpp"

namespace talus::tool {

namespace {

using Id = core::StatisticId;

constexpr size_t counters_max = size_t{1} << 20;

// Live bytes of modes that lie in ranges of address space, and not beside them: sampled blocks.
uint64_t special_in_space(const Layout& layout, Look& look, Numbers& numbers) {
  if (!layout.has("special_pool.area_bytes")) return 0;
  const View special(layout, "special_pool", {"in_space_bytes", "in_space_count", "area_bytes"});
  const char* const copy = special.read(look, layout.root("special_pool"));
  numbers[Id::heap_sampled_blocks] = special.get(copy, 1);
  numbers[Id::heap_sample_area_bytes] = special.get(copy, 2);
  const uint64_t bytes = special.get(copy, 0);
  numbers[Id::heap_sampled_bytes] = bytes;
  return bytes;
}

}  // namespace

void HeapReader::read_space() {
  const View space(layout_, "space",
                   {"lock", "change_count", "reserved_bytes", "reserved_peak_bytes", "given_bytes",
                    "given_peak_bytes", "purged_bytes", "purge_count", "arena_count",
                    "dirty_slices", "clean_slices", "purging_bytes", "metadata_bytes"});
  const char* const copy = space.read(look_, layout_.root("space"));
  if (space.get(copy, 0) != 0) note_at_work(totals_, "a thread holds the lock of address space");
  const uint64_t slice_bytes = layout_.constant("slice.bytes");
  const uint64_t given = space.get(copy, 4);
  set(Id::space_reserved_bytes, space.get(copy, 2));
  set(Id::space_reserved_peak_bytes, space.get(copy, 3));
  set(Id::space_given_bytes, given);
  set(Id::space_given_peak_bytes, space.get(copy, 5));
  set(Id::space_purged_bytes, space.get(copy, 6));
  set(Id::space_purges, space.get(copy, 7));
  set(Id::space_arenas, space.get(copy, 8));
  set(Id::space_retained_bytes, space.get(copy, 9) * slice_bytes);
  set(Id::space_clean_bytes, space.get(copy, 10) * slice_bytes);
  set(Id::space_purging_bytes, space.get(copy, 11));
  set(Id::space_metadata_bytes, space.get(copy, 12));
  read_burst();

  const View large(layout_, "large_pool", {"live_bytes", "live_count"});
  const View special(layout_, "special_pool", {"live_bytes", "live_count"});
  const View limits(layout_, "limits", {"soft_bytes", "hard_bytes"});
  const char* const pool = large.read(look_, layout_.root("large_pool"));
  const char* const made = special.read(look_, layout_.root("special_pool"));
  const char* const bounds = limits.read(look_, layout_.root("limits"));
  uint64_t live_large = totals_.live_large + large.get(pool, 0);
  uint64_t live_count = totals_.live_large_count + large.get(pool, 1);
  if (live_large > given) {
    note_at_work(totals_, "blocks moved during the look");
    live_large = live_large >> 63 != 0 ? 0 : given;
  }
  if (live_count >> 63 != 0) live_count = 0;
  const uint64_t in_space = special_in_space(layout_, look_, numbers_);
  const uint64_t others = in_slabs_ + live_large + totals_.kept_large + in_space;
  if (others > given) note_at_work(totals_, "ranges moved during the look");
  const uint64_t ends = less_or_none(given, others);
  live_large += special.get(made, 0);
  live_count += special.get(made, 1);
  set(Id::heap_live_large_bytes, live_large);
  set(Id::heap_large_blocks, live_count);
  set(Id::heap_large_end_bytes, ends);
  set(Id::heap_total_bytes, others + ends + less_or_none(special.get(made, 0), in_space));
  set(Id::heap_live_bytes, numbers_.get(Id::heap_live_small_bytes) + live_large);
  set(Id::space_limit_soft_bytes, limits.get(bounds, 0));
  set(Id::space_limit_hard_bytes, limits.get(bounds, 1));

  const View guards(layout_, "guards", {"count", "missing"});
  const char* const set_guards = guards.read(look_, layout_.root("guards"));
  set(Id::space_guards, guards.get(set_guards, 0));
  set(Id::space_missing_guards, guards.get(set_guards, 1));
  // A slab with a guard has fewer blocks than its class, and a look does not tell them apart.
  if (guards.get(set_guards, 0) != 0) note_at_work(totals_, "free blocks include guard pages");
}

// Older libraries keep nothing for bursts.
void HeapReader::read_burst() {
  if (!layout_.has("space.burst_bytes")) return;
  const View space(layout_, "space", {"burst_bytes"});
  set(Id::space_burst_bytes, space.get(space.read(look_, layout_.root("space")), 0));
}

// Older libraries tell no causes.
void HeapReader::read_purges() {
  if (!layout_.has("space.purged_by")) return;
  const View purged(layout_, "space", {"purged_by", "purges_by"});
  const char* const causes = purged.read(look_, layout_.root("space"));
  constexpr size_t bytes = static_cast<size_t>(Id::purge_bound_bytes);
  constexpr size_t calls = static_cast<size_t>(Id::purge_bound_calls);
  for (size_t i = 0; i < calls - bytes && i < purged[0].count; i++) {
    numbers_.values[bytes + i] = purged.get(causes, 0, i);
    numbers_.values[calls + i] = purged.get(causes, 1, i);
  }
}

void HeapReader::read_calls() {
  const View shared(layout_, "counting", {"all", "live_bytes", "peak_bytes"});
  const View own(
      layout_, "counters",
      {"next", "allocations", "frees", "requested_bytes", "provided_bytes", "live_bytes"});
  const char* const copy = shared.read(look_, layout_.root("counting"));
  uint64_t at = shared.get(copy, 0);
  if (at == 0) return;  // calls were never counted
  if (layout_.has("counting.is_on")) {
    const View flag(layout_, "counting", {"is_on"});
    if (flag.get(flag.read(look_, layout_.root("counting")), 0) == 0) return;  // no longer
  }
  constexpr size_t first = static_cast<size_t>(Id::calls_up_to_16);
  constexpr size_t ranges = static_cast<size_t>(Id::calls_larger) - first + 1;
  std::array<uint64_t, ranges> allocations{};
  uint64_t sum = 0, frees = 0, requested = 0, provided = 0, live = shared.get(copy, 1);
  for (Chain chain("a list of counters", counters_max); at != 0;) {
    chain.pass(at);
    const char* const counters = own.read(look_, at);
    for (size_t i = 0; i < ranges; i++) {
      allocations[i] += own.get(counters, 1, i);
      sum += own.get(counters, 1, i);
    }
    frees += own.get(counters, 2);
    requested += own.get(counters, 3);
    provided += own.get(counters, 4);
    live += own.get(counters, 5);
    at = own.get(counters, 0);
  }
  const uint64_t positive = live >> 63 != 0 ? 0 : live;
  set(Id::calls_allocations, sum);
  set(Id::calls_frees, frees);
  set(Id::calls_requested_bytes, requested);
  set(Id::calls_rounding_bytes, less_or_none(provided, requested));
  set(Id::calls_live_bytes, positive);
  set(Id::calls_live_peak_bytes, std::max(positive, shared.get(copy, 2)));
  for (size_t i = 0; i < ranges; i++) numbers_.values[first + i] = allocations[i];
}

}  // namespace talus::tool
