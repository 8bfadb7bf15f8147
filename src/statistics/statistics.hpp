// SPDX-License-Identifier: MIT
// statistics/statistics: the values of the table of settings/statistics.
//
// Owns: where each value comes from, and how a name is read. Invariants: an unknown value is marked
// as such and never invented. It allocates nothing, calls no function of libc and keeps errno. No
// lock is held when a function returns. A call reads only what the name's group needs. resident.*
// and process.resident_bytes ask the kernel about every page; all others are cheap. Called on: any
// thread, the background thread included. Must not know: forms and places of output.
#ifndef TALUS_STATISTICS_STATISTICS_HPP
#define TALUS_STATISTICS_STATISTICS_HPP

#include "base/base.hpp"
#include "classes/fitted.hpp"
#include "classes/size_class.hpp"
#include "settings/machine.hpp"
#include "settings/statistics.hpp"
#include "os/guards.hpp"
#include "os/os.hpp"
#include "space/space.hpp"
#include "heap/allocated.hpp"
#include "inspect/resident.hpp"
#include "inspect/instance_totals.hpp"
#include "inspect/totals.hpp"
#include "modes/counting.hpp"
#include "machine/kernel_file.hpp"
#include "modes/chain.hpp"

namespace talus::core {

TALUS_CONSTINIT inline Atomic<uint64_t> process_started_ns;

struct Statistics {
  uint64_t values[statistic_count] = {};
  bool is_known[statistic_count] = {};
  HeapTotals totals;

  void clear() noexcept {
    for (bool& known : is_known) known = false;
  }
  void set(StatisticId id, uint64_t value) noexcept {
    values[static_cast<size_t>(id)] = value;
    is_known[static_cast<size_t>(id)] = true;
  }
};

// The number at the start of a part, after blanks. False: no number.
inline bool number_at_start(TextPart part, uint64_t& number) noexcept {
  size_t i = 0;
  while (i < part.length && (part.text[i] == ' ' || part.text[i] == '\t')) i++;
  const size_t first = i;
  number = 0;
  for (; i < part.length && part.text[i] >= '0' && part.text[i] <= '9'; i++) {
    number = number * 10 + static_cast<uint64_t>(part.text[i] - '0');
  }
  return i > first;
}

// The process's resident memory: the kernel's exact count, or its quick one where the exact one is
// missing (Linux before 4.14). False: neither can be read.
inline bool read_resident_bytes(uint64_t& bytes) noexcept {
  {
    FileLines lines{"/proc/self/smaps_rollup"};
    TextPart line;
    while (lines.next(line)) {
      if (!line.take_until(':').is("Rss")) continue;
      if (!number_at_start(line, bytes)) break;
      bytes *= kib;
      return true;
    }
  }
  char text[128];
  TextPart rest{text, read_text("/proc/self/statm", text)};
  rest.take_until(' ');
  if (!number_at_start(rest, bytes)) return false;
  bytes *= os::page_bytes();
  return true;
}

// The peak of resident memory since the program began. getrusage includes all earlier programs of
// this process, also the one that started this program.
inline bool read_resident_peak_bytes(uint64_t& bytes) noexcept {
  FileLines lines{"/proc/self/status"};
  TextPart line;
  while (lines.next(line)) {
    if (!line.take_until(':').is("VmHWM")) continue;
    if (!number_at_start(line, bytes)) return false;
    bytes *= kib;
    return true;
  }
  return false;
}

inline void add_process_values(Statistics& all) noexcept {
  all.set(StatisticId::process_id, static_cast<uint64_t>(os::System::process_id()));
  const uint64_t started = process_started_ns.load_init();
  if (started != 0) {
    all.set(StatisticId::process_uptime_ms, (os::System::now_ns() - started) / 1000000);
  }
  os::ProcessUsage usage;
  if (!os::System::look_at_usage(usage)) return;
  all.set(StatisticId::process_user_ms, usage.user_ms);
  all.set(StatisticId::process_system_ms, usage.system_ms);
  uint64_t peak = 0;
  if (!read_resident_peak_bytes(peak)) peak = usage.resident_peak_bytes;
  all.set(StatisticId::process_resident_peak_bytes, peak);
  all.set(StatisticId::process_minor_faults, usage.minor_faults);
  all.set(StatisticId::process_major_faults, usage.major_faults);
}

inline void add_heap_values(Statistics& all) noexcept {
  using Id = StatisticId;
  collect_totals(all.totals);
  const HeapTotals& totals = all.totals;
  all.set(Id::heap_total_bytes, totals.total_bytes);
  all.set(Id::heap_live_small_bytes, totals.live_small);
  all.set(Id::heap_live_large_bytes, totals.live_large);
  all.set(Id::heap_listed_bytes, totals.listed);
  all.set(Id::heap_remote_bytes, totals.on_their_way);
  all.set(Id::heap_free_bytes, totals.free_in_slabs);
  all.set(Id::heap_slab_end_bytes, totals.slab_ends);
  all.set(Id::heap_kept_bytes, totals.kept_large);
  all.set(Id::heap_large_end_bytes, totals.large_ends);
  all.set(Id::heap_live_bytes, totals.live());
  all.set(Id::heap_partly_purged_bytes, totals.purged_in_slabs);
  all.set(Id::heap_large_blocks, totals.live_large_count);
  all.set(Id::heap_sampled_blocks, totals.sampled_count);
  all.set(Id::heap_sampled_bytes, totals.sampled);
  all.set(Id::heap_sample_area_bytes, totals.sample_areas);
  all.set(Id::heap_slabs, totals.slab_count);
  all.set(Id::heap_heaps, totals.heap_count);
  all.set(Id::heap_abandoned_heaps, totals.abandoned_count);
  all.set(Id::heap_threads, totals.cache_count - totals.left_count);
  all.set(Id::heap_orphaned_caches, totals.left_count);
  all.set(Id::heap_instances, totals.instance_count);
  all.set(Id::heap_instance_live_bytes, totals.instance_live);
  all.set(Id::heap_instance_total_bytes, totals.instance_total);
  all.set(Id::heap_provided_live_bytes, totals.region_live);
  all.set(Id::heap_provided_total_bytes, totals.region_total);
  all.set(Id::space_reserved_bytes, totals.space.reserved_bytes);
  all.set(Id::space_given_bytes, totals.space.given_bytes);
  all.set(Id::space_retained_bytes, totals.dirty);
  all.set(Id::space_purging_bytes, totals.purging);
  all.set(Id::space_clean_bytes, totals.clean);
  all.set(Id::space_burst_bytes, totals.burst);
  all.set(Id::space_reserved_peak_bytes, totals.space.reserved_peak_bytes);
  all.set(Id::space_given_peak_bytes, totals.space.given_peak_bytes);
  all.set(Id::space_metadata_bytes, totals.metadata);
  all.set(Id::space_arenas, totals.space.arena_count);
  all.set(Id::space_purged_bytes, totals.space.purged_bytes);
  all.set(Id::space_purges, totals.space.purge_count);
  for (size_t i = 0; i < purge_cause_count; i++) {
    constexpr size_t bytes = static_cast<size_t>(Id::purge_bound_bytes);
    constexpr size_t calls = static_cast<size_t>(Id::purge_bound_calls);
    static_assert(calls - bytes == purge_cause_count, "one row for each cause");
    all.set(StatisticId(static_cast<uint8_t>(bytes + i)), totals.purged[i].bytes);
    all.set(StatisticId(static_cast<uint8_t>(calls + i)), totals.purged[i].calls);
  }
  all.set(Id::space_guards, guards.count());
  all.set(Id::space_missing_guards, guards.missing_count());
  all.set(Id::space_limit_soft_bytes, limits.soft_bytes.load_hint());
  all.set(Id::space_limit_hard_bytes, limits.hard_bytes.load_hint());
}

// The share of a resident sum that belongs to `bytes` of `all_bytes`.
inline size_t share_of(size_t resident, size_t bytes, size_t all_bytes) noexcept {
  if (bytes >= all_bytes) return all_bytes == 0 ? 0 : resident;
  const double part = static_cast<double>(bytes) / static_cast<double>(all_bytes);
  const auto share = static_cast<size_t>(static_cast<double>(resident) * part);
  return share < resident ? share : resident;
}

// Needs the heap's values. A slab does not show which of its allocated blocks are live, listed or
// on their way. So their resident bytes are split in proportion to their sizes.
inline void add_resident_values(Statistics& all) noexcept {
  using Id = StatisticId;
  uint64_t process_bytes = 0;
  const bool has_process = read_resident_bytes(process_bytes);
  if (has_process) all.set(Id::process_resident_bytes, process_bytes);
  const ResidentTotals found = collect_resident();
  if (!found.is_known) return;
  const size_t taken = found.taken_small;
  const HeapTotals& totals = all.totals;
  const size_t out = totals.live_small + totals.listed + totals.on_their_way;
  const size_t listed = share_of(taken, totals.listed, out);
  const size_t remote = share_of(taken - listed, totals.on_their_way, out - totals.listed);
  all.set(Id::resident_total_bytes, found.total());
  all.set(Id::resident_live_small_bytes, taken - listed - remote);
  all.set(Id::resident_live_large_bytes, found.live_large);
  all.set(Id::resident_listed_bytes, listed);
  all.set(Id::resident_remote_bytes, remote);
  all.set(Id::resident_free_bytes, found.free_in_slabs);
  all.set(Id::resident_kept_bytes, found.kept_large);
  all.set(Id::resident_retained_bytes, found.retained);
  all.set(Id::resident_metadata_bytes, found.metadata);
  all.set(Id::resident_rest_bytes, found.rest);
  if (has_process) {
    all.set(Id::resident_not_ours_bytes, less_or_none(process_bytes, found.total()));
  }
}

inline void add_calls_values(Statistics& all) noexcept {
  using Id = StatisticId;
  if (!is_on(counting::mode)) return;
  const counting::Counts counts = counting::collect();
  all.set(Id::calls_allocations, counts.allocation_sum);
  all.set(Id::calls_frees, counts.frees);
  all.set(Id::calls_requested_bytes, counts.requested_bytes);
  all.set(Id::calls_rounding_bytes, less_or_none(counts.provided_bytes, counts.requested_bytes));
  const int64_t live = counts.live_bytes;
  all.set(Id::calls_live_bytes, live > 0 ? static_cast<uint64_t>(live) : 0);
  all.set(Id::calls_live_peak_bytes, static_cast<uint64_t>(counts.peak_bytes));
  constexpr size_t first = static_cast<size_t>(Id::calls_up_to_16);
  constexpr size_t last = static_cast<size_t>(Id::calls_larger);
  static_assert(last - first + 1 == counting::range_count, "one row for each range");
  for (size_t range = 0; range < counting::range_count; range++) {
    all.set(StatisticId(static_cast<uint8_t>(first + range)), counts.allocations[range]);
  }
}

inline void collect_statistics(Statistics& all) noexcept {
  all.clear();
  add_process_values(all);
  add_heap_values(all);
  add_resident_values(all);
  add_calls_values(all);
}

inline uint64_t class_value(const ClassTotals& blocks, size_t field) noexcept {
  const size_t values[] = {blocks.live, blocks.listed, blocks.remote, blocks.free, blocks.slabs};
  static_assert(sizeof values / sizeof values[0] == class_statistic_count, "one for each row");
  return values[field];
}
// statistic_unknown: what the thread allocated, where that is not counted.
inline uint64_t thread_value(const ThreadTotals& thread, size_t field) noexcept {
  const AllocatedBytes& allocated = thread.allocated;
  const uint64_t values[] = {thread.heap_id, thread.listed, thread.kept_large, thread.collected,
                             allocated.is_known ? allocated.bytes : statistic_unknown};
  static_assert(sizeof values / sizeof values[0] == thread_statistic_count, "one for each row");
  return values[field];
}
inline uint64_t instance_value(const InstanceTotals& heap, size_t field) noexcept {
  const size_t values[] = {heap.live(),     heap.free,        heap.slab_ends,
                           heap.total(),    heap.peak,        heap.limit,
                           heap.live_count, heap.large_count, heap.slab_count};
  static_assert(sizeof values / sizeof values[0] == instance_statistic_count, "one for each row");
  return values[field];
}

// The row of a table with this field; the number of rows: no such row.
template <size_t Count>
size_t find_field(const StatisticRow (&rows)[Count], TextPart group, TextPart field) noexcept {
  size_t row = 0;
  while (row < Count && !(group.is(rows[row].group) && field.is(rows[row].field))) row++;
  return row;
}

// A key that is a decimal number without leading zeros; SIZE_MAX: it is not one.
inline size_t read_key(TextPart key) noexcept {
  size_t number = 0;
  if (key.length == 0 || key.length > 9 || (key.text[0] == '0' && key.length > 1)) return SIZE_MAX;
  for (size_t i = 0; i < key.length; i++) {
    if (key.text[i] < '0' || key.text[i] > '9') return SIZE_MAX;
    number = number * 10 + static_cast<size_t>(key.text[i] - '0');
  }
  return number;
}

inline int get_class_value(TextPart key, size_t field, uint64_t& value) noexcept {
  const size_t bytes = read_key(key);
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    if (!fitted_classes.is_made(id) || size_class_row(id).block_bytes != bytes) continue;
    HeapTotals totals;
    collect_totals(totals);
    value = class_value(totals.classes[index], field);
    return 0;
  }
  return ENOENT;
}
inline int get_thread_value(TextPart key, size_t field, uint64_t& value) noexcept {
  ThreadTotals thread;
  if (collect_threads(read_key(key), &thread, 1) == 0) return ENOENT;
  const uint64_t found = thread_value(thread, field);
  if (found == statistic_unknown) return ENODATA;
  value = found;
  return 0;
}

// A name that is a number is found by its number alone. Of instances with the same name, the one
// with the lowest number counts.
inline bool find_instance_by_key(TextPart key, InstanceTotals& found) noexcept {
  const size_t number = read_key(key);
  if (number != SIZE_MAX) return find_instance(number, found);
  size_t next = 0;
  while (collect_instances(next, &found, 1) == 1) {
    if (key.length != 0 && key.is(found.name)) return true;
  }
  return false;
}
// The name of an instance may itself have dots.
inline int get_instance_value(TextPart key_and_field, uint64_t& value) noexcept {
  TextPart key = key_and_field;
  while (key.length > 0 && key.text[key.length - 1] != '.') key.length--;
  const TextPart field{key.text + key.length, key_and_field.length - key.length};
  if (key.length > 0) key.length--;
  const size_t row = find_field(instance_statistic_rows, TextPart{"instance", 8}, field);
  InstanceTotals found;
  if (row == instance_statistic_count || !find_instance_by_key(key, found)) return ENOENT;
  value = instance_value(found, row);
  return 0;
}

TALUS_SLOW int get_table_value(size_t row, uint64_t& value) noexcept {
  Statistics all;
  const char* group = statistic_rows[row].group;
  const bool is_rss = row == static_cast<size_t>(StatisticId::process_resident_bytes);
  if (is_rss) {
    uint64_t bytes = 0;
    if (read_resident_bytes(bytes)) all.set(StatisticId::process_resident_bytes, bytes);
  } else if (is_same_name(group, "process")) {
    add_process_values(all);
  } else if (is_same_name(group, "calls")) {
    add_calls_values(all);
  } else {
    add_heap_values(all);
    if (is_same_name(group, "resident")) add_resident_values(all);
  }
  if (!all.is_known[row]) return ENODATA;
  value = all.values[row];
  return 0;
}

// The value of a full name. 0, or ENOENT: no such name, or ENODATA: not known here.
inline int get_statistic(const char* name, uint64_t& value) noexcept {
  TextPart rest{name, 0};
  while (name[rest.length] != '\0') rest.length++;
  const TextPart group = rest.take_until('.');
  if (group.is("instance")) return get_instance_value(rest, value);
  if (group.is("class") || group.is("thread")) {
    const TextPart key = rest.take_until('.');
    const size_t class_field = find_field(class_statistic_rows, group, rest);
    if (class_field != class_statistic_count) return get_class_value(key, class_field, value);
    const size_t thread_field = find_field(thread_statistic_rows, group, rest);
    if (thread_field != thread_statistic_count) return get_thread_value(key, thread_field, value);
    return ENOENT;
  }
  const size_t row = find_field(statistic_rows, group, rest);
  return row == statistic_count ? ENOENT : get_table_value(row, value);
}

}  // namespace talus::core

#endif  // TALUS_STATISTICS_STATISTICS_HPP
