// SPDX-License-Identifier: MIT
// settings/statistics: the one table of statistics: names, units and meanings.
//
// Owns: the rows. The values (statistics/statistics.hpp), talus_get, all printed forms, `talus
// statistics` and docs/statistics.md are expanded from them, so they cannot disagree. A full name
// is group, dot, field. Rows of one group stand together. Three groups have a key between the two,
// "class.64.live_blocks": their fields are in tables of their own.
// Invariant: no name occurs twice; a field in bytes ends in _bytes, one in milliseconds in _ms.
// Must not know: where values come from. Pure data, floor 2.
#ifndef TALUS_SETTINGS_STATISTICS_HPP
#define TALUS_SETTINGS_STATISTICS_HPP

#include <cstddef>
#include <cstdint>

#include "base/base.hpp"

namespace talus::core {

// counter: only grows, from the start of the process.
enum class StatisticKind : std::uint8_t { gauge, counter };
enum class StatisticUnit : std::uint8_t { none, bytes, ms };

// ROW(group, field, kind, unit, label, help); the text form prints the label.
#define TALUS_STATISTIC_ROWS(ROW)                                                                 \
  ROW(process, id, gauge, none, "process", "the process's id")                                    \
  ROW(process, uptime_ms, gauge, ms, "wall time", "since the process began with Talus")           \
  ROW(process, user_ms, counter, ms, "user time", "processor time in the program")                \
  ROW(process, system_ms, counter, ms, "system time", "processor time in the kernel")             \
  ROW(process, resident_bytes, gauge, bytes, "RSS", "resident memory, as the kernel counts it")   \
  ROW(process, resident_peak_bytes, gauge, bytes, "peak RSS", "the most it ever was")             \
  ROW(process, minor_faults, counter, none, "minor page faults", "page faults without reading")   \
  ROW(process, major_faults, counter, none, "major page faults", "page faults that read a disk")  \
  ROW(resident, total_bytes, gauge, bytes, "Talus",                                               \
      "resident memory of Talus: the sum of the parts below, but not_ours")                       \
  ROW(resident, live_small_bytes, gauge, bytes, "live, small",                                    \
      "blocks in slabs in use: of blocks out of their slabs the share by bytes")                  \
  ROW(resident, live_large_bytes, gauge, bytes, "live, large", "blocks of their own in use")      \
  ROW(resident, listed_bytes, gauge, bytes, "free, in thread lists",                              \
      "free blocks that threads have at hand: of blocks out of their slabs the share by bytes")   \
  ROW(resident, remote_bytes, gauge, bytes, "free, on their way",                                 \
      "blocks freed by other threads and not yet home: the share by bytes")                       \
  ROW(resident, free_bytes, gauge, bytes, "free, in slabs", "free blocks, as far as resident")    \
  ROW(resident, kept_bytes, gauge, bytes, "free, kept large blocks",                              \
      "large blocks that threads freed and keep")                                                 \
  ROW(resident, retained_bytes, gauge, bytes, "free, retained ranges",                            \
      "free address space that is still resident")                                                \
  ROW(resident, metadata_bytes, gauge, bytes, "metadata",                                         \
      "descriptors, heaps, thread caches and the page map")                                       \
  ROW(resident, rest_bytes, gauge, bytes, "rest",                                                 \
      "ends of slabs and of large blocks, and what changed hands during the look")                \
  ROW(resident, not_ours_bytes, gauge, bytes, "not Talus'",                                       \
      "process.resident_bytes less resident.total_bytes: code, stacks, other mappings")           \
  ROW(heap, total_bytes, gauge, bytes, "all heaps",                                               \
      "address space that heaps use, resident or not: the sum of the eight parts below")          \
  ROW(heap, live_small_bytes, gauge, bytes, "live, small", "blocks in slabs in use")              \
  ROW(heap, live_large_bytes, gauge, bytes, "live, large",                                        \
      "blocks of their own in use, to the end of their last page")                                \
  ROW(heap, listed_bytes, gauge, bytes, "free, in thread lists",                                  \
      "free blocks that threads have at hand")                                                    \
  ROW(heap, remote_bytes, gauge, bytes, "free, on their way",                                     \
      "freed blocks on their way to their heap, in batches and messages")                         \
  ROW(heap, free_bytes, gauge, bytes, "free, in slabs", "free blocks in their slabs")             \
  ROW(heap, slab_end_bytes, gauge, bytes, "ends of slabs", "behind the last block of each slab")  \
  ROW(heap, kept_bytes, gauge, bytes, "free, kept large blocks",                                  \
      "large blocks that threads freed and keep, with their whole ranges")                        \
  ROW(heap, large_end_bytes, gauge, bytes, "ends of large blocks",                                \
      "head-room and rounding of large blocks to slices of 64 KiB, before and behind them")       \
  ROW(heap, live_bytes, gauge, bytes, "live", "live_small_bytes and live_large_bytes")            \
  ROW(heap, partly_purged_bytes, gauge, bytes, "given back in slabs",                             \
      "of free_bytes, in slabs whose free pages went back to the kernel")                         \
  ROW(heap, large_blocks, gauge, none, "large blocks", "large blocks in use")                     \
  ROW(heap, sampled_blocks, gauge, none, "sampled blocks",                                        \
      "of large_blocks, those that the heap profile samples: they share areas")                   \
  ROW(heap, sampled_bytes, gauge, bytes, "live, sampled", "of live_large_bytes, in these areas")  \
  ROW(heap, sample_area_bytes, gauge, bytes, "areas of samples",                                  \
      "of total_bytes; what no sample has counts as large_end_bytes, purged or not")              \
  ROW(heap, slabs, gauge, none, "slabs", "ranges of equal small blocks")                          \
  ROW(heap, heaps, gauge, none, "heaps", "heaps that there are; threads share them")              \
  ROW(heap, abandoned_heaps, gauge, none, "heaps without a thread", "of these, without a thread") \
  ROW(heap, threads, gauge, none, "threads", "threads that have allocated and live")              \
  ROW(heap, orphaned_caches, gauge, none, "threads left by a fork",                               \
      "caches of threads that a fork left behind, and that no thread took home yet")              \
  ROW(heap, instances, gauge, none, "instances", "heaps that the program made, beside heaps")     \
  ROW(heap, instance_live_bytes, gauge, bytes, "live, in instances",                              \
      "of live_bytes: the sum of live_bytes of all instances, without what is provided")          \
  ROW(heap, instance_total_bytes, gauge, bytes, "with instances",                                 \
      "of total_bytes: the sum of total_bytes of all instances, without what is provided")        \
  ROW(heap, provided_live_bytes, gauge, bytes, "live, provided",                                  \
      "blocks in use in memory of instances' own providers, beside live_bytes")                   \
  ROW(heap, provided_total_bytes, gauge, bytes, "provided",                                       \
      "what these providers back, beside total_bytes")                                            \
  ROW(space, reserved_bytes, gauge, bytes, "address space",                                       \
      "in arenas; the sum of given, retained, purging and clean")                                 \
  ROW(space, given_bytes, gauge, bytes, "with heaps", "equals heap.total_bytes when all rest")    \
  ROW(space, retained_bytes, gauge, bytes, "free, retained", "free, may still be resident")       \
  ROW(space, purging_bytes, gauge, bytes, "free, going back", "being given back just now")        \
  ROW(space, clean_bytes, gauge, bytes, "free, clean", "free and without memory")                 \
  ROW(space, burst_bytes, gauge, bytes, "kept for the next burst",                                \
      "free memory, in ranges and slabs, that stays longer because bursts of its size return")    \
  ROW(space, reserved_peak_bytes, gauge, bytes, "address space, peak", "the most it ever was")    \
  ROW(space, given_peak_bytes, gauge, bytes, "with heaps, peak", "the most it ever was")          \
  ROW(space, metadata_bytes, gauge, bytes, "metadata",                                            \
      "handed out for descriptors, heaps and thread caches, touched or not")                      \
  ROW(space, arenas, gauge, none, "arenas", "reservations of address space")                      \
  ROW(space, purged_bytes, counter, bytes, "given back to the kernel", "ever, of free pages")     \
  ROW(space, purges, counter, none, "steps of giving back", "calls of the kernel for that")       \
  ROW(space, guards, gauge, none, "guards", "pages without access, by option guard_pages")        \
  ROW(space, missing_guards, counter, none, "guards refused",                                     \
      "places that got none: too many mappings, memory of a provider, a kernel that refuses")     \
  ROW(space, limit_soft_bytes, gauge, bytes, "soft limit", "in effect; 0: none")                  \
  ROW(space, limit_hard_bytes, gauge, bytes, "hard limit", "in effect; 0: none")                  \
  ROW(purge, bound_bytes, counter, bytes, "beyond the bound",                                     \
      "purged because more was free than may stay: by threads that freed or needed new memory")   \
  ROW(purge, decay_bytes, counter, bytes, "not needed for a while",                               \
      "purged by the background thread, because the memory was not needed lately")                \
  ROW(purge, call_bytes, counter, bytes, "asked for by the program",                              \
      "purged by malloc_trim, talus_trim and talus_release")                                      \
  ROW(purge, command_bytes, counter, bytes, "asked for by talus ctl", "purged by talus ctl")      \
  ROW(purge, limit_bytes, counter, bytes, "for a limit",                                          \
      "purged at the soft or the hard limit, and where an allocation failed")                     \
  ROW(purge, pressure_bytes, counter, bytes, "for other processes",                               \
      "purged because the machine or the control group was short of memory")                      \
  ROW(purge, bound_calls, counter, none, "calls for the bound", "calls of the kernel for that")   \
  ROW(purge, decay_calls, counter, none, "calls for decay", "calls of the kernel for that")       \
  ROW(purge, call_calls, counter, none, "calls for the program", "calls of the kernel for that")  \
  ROW(purge, command_calls, counter, none, "calls for talus ctl", "calls of the kernel for that") \
  ROW(purge, limit_calls, counter, none, "calls for a limit", "calls of the kernel for that")     \
  ROW(purge, pressure_calls, counter, none, "calls for other processes",                          \
      "calls of the kernel for that")                                                             \
  ROW(calls, allocations, counter, none, "allocations", "calls that gave a block")                \
  ROW(calls, frees, counter, none, "frees", "calls that took one back")                           \
  ROW(calls, requested_bytes, counter, bytes, "requested in total",                               \
      "that the program asked for, over all allocations")                                         \
  ROW(calls, rounding_bytes, counter, bytes, "rounding in total",                                 \
      "that blocks were larger than asked for, over all allocations")                             \
  ROW(calls, live_bytes, gauge, bytes, "live blocks", "of blocks allocated since counting began") \
  ROW(calls, live_peak_bytes, gauge, bytes, "peak of live blocks",                                \
      "the most it ever was, to 64 KiB for each thread")                                          \
  ROW(calls, up_to_16, counter, none, "of up to 16 B", "allocations of that many bytes")          \
  ROW(calls, up_to_64, counter, none, "of up to 64 B", "more than that, and up to this")          \
  ROW(calls, up_to_256, counter, none, "of up to 256 B", "more than that, and up to this")        \
  ROW(calls, up_to_1024, counter, none, "of up to 1 KiB", "more than that, and up to this")       \
  ROW(calls, up_to_4096, counter, none, "of up to 4 KiB", "more than that, and up to this")       \
  ROW(calls, up_to_32768, counter, none, "of up to 32 KiB", "more than that, and up to this")     \
  ROW(calls, up_to_262144, counter, none, "of up to 256 KiB", "more than that, and up to this")   \
  ROW(calls, up_to_1048576, counter, none, "of up to 1 MiB", "more than that, and up to this")    \
  ROW(calls, larger, counter, none, "larger", "allocations of more than a mebibyte")

// Fields of a size class, whose key is the size of its blocks in bytes.
#define TALUS_CLASS_STATISTIC_ROWS(ROW)                                             \
  ROW(class, live_blocks, gauge, none, "live", "blocks in use")                     \
  ROW(class, listed_blocks, gauge, none, "listed", "free blocks in thread lists")   \
  ROW(class, remote_blocks, gauge, none, "remote", "free blocks on their way home") \
  ROW(class, free_blocks, gauge, none, "free", "free blocks in slabs")              \
  ROW(class, slabs, gauge, none, "slabs", "slabs of such blocks")

// Fields of a thread. The key is its number; 0 is the thread whose first allocation is the latest.
// The values are as old as the thread's last store that has left its processor. Numbers change when
// other threads begin and end.
#define TALUS_THREAD_STATISTIC_ROWS(ROW)                                                 \
  ROW(thread, heap, gauge, none, "heap", "the number of the heap that the thread uses")  \
  ROW(thread, list_bytes, gauge, bytes, "lists", "free blocks in its lists")             \
  ROW(thread, kept_bytes, gauge, bytes, "kept", "large blocks that it freed and keeps")  \
  ROW(thread, remote_bytes, gauge, bytes, "remote", "blocks of others that it collects") \
  ROW(thread, allocated_bytes, counter, bytes, "allocated",                              \
      "blocks that it allocated, since talus_thread_allocated or talus ctl stats on asked")

// Fields of an instance, whose key is its number or its name. All values are of one moment.
#define TALUS_INSTANCE_STATISTIC_ROWS(ROW)                                                  \
  ROW(instance, live_bytes, gauge, bytes, "live", "blocks in use")                          \
  ROW(instance, free_bytes, gauge, bytes, "free", "what its blocks do not use")             \
  ROW(instance, slab_end_bytes, gauge, bytes, "ends", "behind the last block of each slab") \
  ROW(instance, total_bytes, gauge, bytes, "total", "the sum of these three")               \
  ROW(instance, peak_bytes, gauge, bytes, "peak", "the most that total_bytes ever was")     \
  ROW(instance, limit_bytes, gauge, bytes, "limit", "of total_bytes; 0: none")              \
  ROW(instance, live_blocks, gauge, none, "blocks", "blocks in use")                        \
  ROW(instance, large_blocks, gauge, none, "large", "of live_blocks, those above 32 KiB")   \
  ROW(instance, slabs, gauge, none, "slabs", "ranges of equal small blocks")

// Names a row of the first table; also its index in statistic_rows.
enum class StatisticId : std::uint8_t {
#define TALUS_STATISTIC_ID(group, field, kind, unit, label, help) group##_##field,
  TALUS_STATISTIC_ROWS(TALUS_STATISTIC_ID)
#undef TALUS_STATISTIC_ID
};

// All texts of the tables one behind the other, each group's name once.
#define TALUS_STATISTIC_GROUPS(GROUP) \
  GROUP(process)                      \
  GROUP(resident)                     \
  GROUP(heap) GROUP(space) GROUP(purge) GROUP(calls) GROUP(class) GROUP(thread) GROUP(instance)
#define TALUS_ALL_STATISTIC_ROWS(ROW) \
  TALUS_STATISTIC_ROWS(ROW)           \
  TALUS_CLASS_STATISTIC_ROWS(ROW)     \
  TALUS_THREAD_STATISTIC_ROWS(ROW)    \
  TALUS_INSTANCE_STATISTIC_ROWS(ROW)
#define TALUS_STATISTIC_GROUP_TEXT(group) #group "\0"
#define TALUS_STATISTIC_TEXT(group, field, kind, unit, label, help) #field "\0" label "\0" help "\0"
// Apart from other constants, which the start reads.
[[gnu::section("talus_texts")]] inline constexpr char statistic_texts[] =
    "\0" TALUS_STATISTIC_GROUPS(TALUS_STATISTIC_GROUP_TEXT)
        TALUS_ALL_STATISTIC_ROWS(TALUS_STATISTIC_TEXT);
#undef TALUS_STATISTIC_GROUP_TEXT
#undef TALUS_STATISTIC_TEXT

// Where each text lies. There is no object of this type.
struct StatisticPlaces {
  char empty[1];
#define TALUS_STATISTIC_GROUP_PLACE(group) char group_##group[sizeof(#group)];
#define TALUS_STATISTIC_PLACE(group, field, kind, unit, label, help) \
  char group##_##field##_field[sizeof(#field)];                      \
  char group##_##field##_label[sizeof(label)];                       \
  char group##_##field##_help[sizeof(help)];
  TALUS_STATISTIC_GROUPS(TALUS_STATISTIC_GROUP_PLACE)
  TALUS_ALL_STATISTIC_ROWS(TALUS_STATISTIC_PLACE)
#undef TALUS_STATISTIC_GROUP_PLACE
#undef TALUS_STATISTIC_PLACE
};
static_assert(sizeof(StatisticPlaces) + 1 == sizeof(statistic_texts), "same texts, same order");
using StatisticText = PoolText<statistic_texts>;

// One row as data. All fields are constant.
struct StatisticRow {
  StatisticText group;
  StatisticText field;
  StatisticKind kind;
  StatisticUnit unit;
  StatisticText label;
  std::uint8_t label_length;
  StatisticText help;  // without its full stop
};

#define TALUS_STATISTIC_ROW(group, field, kind, unit, label, help)    \
  {StatisticText{offsetof(StatisticPlaces, group_##group)},           \
   StatisticText{offsetof(StatisticPlaces, group##_##field##_field)}, \
   StatisticKind::kind,                                               \
   StatisticUnit::unit,                                               \
   StatisticText{offsetof(StatisticPlaces, group##_##field##_label)}, \
   sizeof(label) - 1,                                                 \
   StatisticText{offsetof(StatisticPlaces, group##_##field##_help)}},
inline constexpr StatisticRow statistic_rows[] = {TALUS_STATISTIC_ROWS(TALUS_STATISTIC_ROW)};
inline constexpr StatisticRow class_statistic_rows[] = {
    TALUS_CLASS_STATISTIC_ROWS(TALUS_STATISTIC_ROW)};
inline constexpr StatisticRow thread_statistic_rows[] = {
    TALUS_THREAD_STATISTIC_ROWS(TALUS_STATISTIC_ROW)};
inline constexpr StatisticRow instance_statistic_rows[] = {
    TALUS_INSTANCE_STATISTIC_ROWS(TALUS_STATISTIC_ROW)};
#undef TALUS_STATISTIC_ROW

// The value of a field that is not known.
inline constexpr std::uint64_t statistic_unknown = ~std::uint64_t{0};

inline constexpr std::size_t statistic_count = sizeof(statistic_rows) / sizeof(StatisticRow);
inline constexpr std::size_t class_statistic_count =
    sizeof(class_statistic_rows) / sizeof(StatisticRow);
inline constexpr std::size_t thread_statistic_count =
    sizeof(thread_statistic_rows) / sizeof(StatisticRow);
inline constexpr std::size_t instance_statistic_count =
    sizeof(instance_statistic_rows) / sizeof(StatisticRow);

// The titles of groups, for readers.
struct StatisticGroup {
  char name[9];
  char title[40];
};
inline constexpr StatisticGroup statistic_groups[] = {
    {"process", "the process"},
    {"resident", "where resident memory is"},
    {"heap", "what heaps have of address space"},
    {"space", "address space"},
    {"purge", "what went back to the kernel, by cause"},
    {"calls", "calls, where they are counted"},
};

constexpr bool is_same_name(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
constexpr bool has_ending(const char* text, const char* ending) {
  for (; *text != '\0'; ++text) {
    if (is_same_name(text, ending)) return true;
  }
  return false;
}
constexpr bool statistic_rows_are_sound() {
  std::size_t group = 0;
  for (std::size_t i = 0; i < statistic_count; ++i) {
    const StatisticRow& row = statistic_rows[i];
    if (!is_same_name(row.group, statistic_groups[group].name)) ++group;
    if (group == sizeof(statistic_groups) / sizeof(StatisticGroup)) return false;
    if (!is_same_name(row.group, statistic_groups[group].name)) return false;
    if (has_ending(row.field, "_bytes") != (row.unit == StatisticUnit::bytes)) return false;
    if (has_ending(row.field, "_ms") != (row.unit == StatisticUnit::ms)) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const StatisticRow& other = statistic_rows[j];
      if (is_same_name(row.group, other.group) && is_same_name(row.field, other.field)) {
        return false;
      }
    }
  }
  return true;
}
static_assert(statistic_rows_are_sound(), "groups stand together, names are new and tell the unit");

}  // namespace talus::core

#endif  // TALUS_SETTINGS_STATISTICS_HPP
