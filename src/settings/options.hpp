// SPDX-License-Identifier: MIT
// settings/options: the one table of options.
//
// Owns: the table. A row says everything about an option: its name, type, default, range, unit,
// when it may change, and its help sentence. `struct Options` (the values), the row descriptions,
// the environment parser (configuration/options_env.hpp), `talus options` and docs/options.md are
// all expanded from it, so they cannot disagree.
// Invariant: every default lies inside its range (asserted at the end of this file).
// Called on: src/configuration fills one Options before the first thread starts; all other code
// reads fields, on slow paths only, on any thread.
// Must not know: how a value is parsed, printed or used. Pure data, floor 2.

#ifndef TALUS_SETTINGS_OPTIONS_HPP
#define TALUS_SETTINGS_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/base.hpp"

namespace talus::core {

inline constexpr std::size_t option_text_bytes_max = 256;  // with the closing zero

// A text value lives inside Options: nothing may be allocated while the allocator starts, and the
// program may overwrite the environment later.
struct OptionText {
  char bytes[option_text_bytes_max];
};

// An amount of memory: unset, bytes, or a percentage of the memory that the process may have
// (settings/machine.hpp).
enum class AmountKind : std::uint8_t { unset, bytes, percent };
struct OptionAmount {
  std::uint64_t value{0};  // bytes, or 1 to 100; unset: 0
  AmountKind kind{AmountKind::unset};
};

// What free() does with a pointer that Talus did not return.
enum class ForeignFree : std::uint8_t { abort, ignore };

// For which memory Talus asks for huge pages.
enum class HugePages : std::uint8_t { never, adaptive, always };

// The format of printed statistics; in the order of talus_stats_format.
enum class StatsFormat : std::uint8_t { text, json, csv, openmetrics };

// What a process is optimised for (settings/presets.hpp); usual: the word "default".
enum class Preset : std::uint8_t { tiny, small, usual, fast };

// How blocks are made: in slabs and ranges, or each in pages of its own, with its end or its start
// at an inaccessible page (modes/mapped.hpp). Checked: in slabs, and each free is proven
// (modes/checked.hpp). Hardened: what blocks hold is protected, too (modes/hardened.hpp).
enum class HeapMode : std::uint8_t { none, mapped, mapped_underrun, checked, hardened };
constexpr bool is_mapped(HeapMode mode) noexcept {
  return mode == HeapMode::mapped || mode == HeapMode::mapped_underrun;
}

// Where the process's memory comes from: the kernel, as needed; an amount reserved at the start; or
// a file in a directory.
enum class ProviderKind : std::uint8_t { os, prealloc, file };
struct ProviderChoice {
  ProviderKind kind{ProviderKind::os};
  bool falls_back{false};  // prealloc: ask the kernel when all is used
  bool grows{true};        // file: reserved as needed, not at once
  std::uint64_t bytes{0};  // prealloc, file: the amount; 0, for a file that grows: no bound
  char directory[200]{};   // file; short enough for the whole value to be a text
};

// Which bytes blocks hold when they are allocated, and when they are freed (modes/fill.hpp).
// perturb: those that the variable MALLOC_PERTURB_ asks of glibc.
enum class FillKind : std::uint8_t { none, bytes, perturb };
struct FillByte {
  bool is_on{false};
  std::uint8_t byte{0};
};
struct FillChoice {
  FillKind kind{FillKind::none};
  FillByte on_allocate{};
  FillByte on_free{};
};

// Which other processes may look into this one and command it: those that the kernel allows; any of
// the same user, also where Yama forbids it. None: it refuses commands.
enum class Observers : std::uint8_t { kernel, any, none };

enum class OptionKind : std::uint8_t { number, amount, boolean, text, words, provider, fill };
enum class OptionUnit : std::uint8_t { none, bytes, ms };

// When a value may change. at_start: read once, when the process starts. while_running: read again
// at each use, so a control call may change it.
enum class OptionReload : std::uint8_t { at_start, while_running };

// The types that a row may name. A type of words is an enum class over std::uint8_t, whose
// enumerators are in the order of `words`, counted from zero.
template <typename Value>
struct OptionTypeOf;
template <>
struct OptionTypeOf<std::uint64_t> {
  static constexpr OptionKind kind = OptionKind::number;
  static constexpr const char* words = "";
};
template <>
struct OptionTypeOf<OptionAmount> {
  static constexpr OptionKind kind = OptionKind::amount;
  static constexpr const char* words = "";
};
template <>
struct OptionTypeOf<bool> {
  static constexpr OptionKind kind = OptionKind::boolean;
  static constexpr const char* words = "0|1|false|true|off|on|no|yes";  // odd indices mean true
};
template <>
struct OptionTypeOf<OptionText> {
  static constexpr OptionKind kind = OptionKind::text;
  static constexpr const char* words = "";
};
template <>
struct OptionTypeOf<ForeignFree> {
  static constexpr OptionKind kind = OptionKind::words;
  static constexpr const char* words = "abort|ignore";
};
template <>
struct OptionTypeOf<HugePages> {
  static constexpr OptionKind kind = OptionKind::words;
  static constexpr const char* words = "never|adaptive|always";
};

template <>
struct OptionTypeOf<StatsFormat> {
  static constexpr OptionKind kind = OptionKind::words;
  static constexpr const char* words = "text|json|csv|openmetrics";
};

template <>
struct OptionTypeOf<Preset> {
  static constexpr OptionKind kind = OptionKind::words;
  static constexpr const char* words = "tiny|small|default|fast";
};

template <>
struct OptionTypeOf<ProviderChoice> {
  static constexpr OptionKind kind = OptionKind::provider;
  static constexpr const char* words =
      "os, prealloc:SIZE[,fallback=0|1] or file:DIRECTORY[,size=SIZE][,grow=0|1]";
};

template <>
struct OptionTypeOf<FillChoice> {
  static constexpr OptionKind kind = OptionKind::fill;
  static constexpr const char* words =
      "none, junk, zero, perturb, alloc=BYTE, free=BYTE or alloc=BYTE,free=BYTE";
};

template <>
struct OptionTypeOf<HeapMode> {
  static constexpr OptionKind kind = OptionKind::words;
  static constexpr const char* words = "none|mapped|mapped-underrun|checked|hardened";
};

template <>
struct OptionTypeOf<Observers> {
  static constexpr OptionKind kind = OptionKind::words;
  static constexpr const char* words = "kernel|any|none";
};

// ROW(name, type, default, min, max, unit, reload, help)
// min and max: lengths for text, indices for booleans and words, bytes for amounts. The environment
// name is TALUS_ and the name in upper case.
#define TALUS_OPTION_ROWS(ROW)                                                                     \
  ROW(preset, Preset, Preset::usual, 0, 3, none, at_start,                                         \
      "other defaults for how much memory is kept, and where: the table of presets below")         \
  ROW(config, OptionText, "", 0, option_text_bytes_max - 1, none, at_start,                        \
      "the file with options to read instead of /etc/talus.conf and ~/.config/talus.conf; "        \
      "none: no file; this option counts in the environment only")                                 \
  ROW(print_stats, OptionText, "", 0, option_text_bytes_max - 1, none, at_start,                   \
      "where statistics go: stdout, stderr or a file name, in which %p is the process id; "        \
      "empty: nowhere")                                                                            \
  ROW(print_stats_format, StatsFormat, StatsFormat::text, 0, 3, none, at_start,                    \
      "form of the statistics; a file gets them one after the other, but of openmetrics the "      \
      "last alone")                                                                                \
  ROW(print_stats_trigger, std::uint64_t, 1, 0, 7, none, at_start,                                 \
      "when statistics are printed, a sum: 0: never, 1: at exit, 2: every print_stats_ms, "        \
      "also when the program is idle, 4: every print_stats_bytes; 1 and 4 count all calls")        \
  ROW(print_stats_ms, std::uint64_t, 10000, 10, 86400000, ms, at_start,                            \
      "time between two samples of trigger 2")                                                     \
  ROW(print_stats_bytes, std::uint64_t, 1073741824, 4096, std::uint64_t{1} << 60, bytes, at_start, \
      "bytes allocated between two samples of trigger 4, to 64 KiB for each thread")               \
  ROW(decay_ms, std::uint64_t, 1000, 0, 3600000, ms, while_running,                                \
      "free memory unused for that long is returned to the kernel; 0: at once")                    \
  ROW(retain_bytes, std::uint64_t, 67108864, 0, std::uint64_t{1} << 47, bytes, while_running,      \
      "at most that much free memory that has been touched is kept for reuse, beside what was "    \
      "in use until decay_ms ago or is needed again every few seconds; 0: none")                   \
  ROW(list_bytes, std::uint64_t, list_bytes_max, 0, list_bytes_most, bytes, at_start,              \
      "free blocks of a size class that a thread may hold, four times as much above 4 KiB, 96 "    \
      "times as much of blocks above 32 KiB together; at least 4 and at most 1024 blocks; "        \
      "four times as many where it takes and frees them in waves, within 128 times as much")       \
  ROW(arena_bytes, std::uint64_t, 4194304, 1048576, 1073741824, bytes, while_running,              \
      "size of the first address range taken from the kernel; below 2 MiB none is aligned to "     \
      "huge pages")                                                                                \
  ROW(heaps, std::uint64_t, 0, 0, 1023, none, at_start,                                            \
      "heaps that threads share; 0: one for each processor that the process may use, at most 64")  \
  ROW(on_foreign_free, ForeignFree, ForeignFree::abort, 0, 1, none, at_start,                      \
      "what free() does with a pointer that did not come from Talus")                              \
  ROW(helper, bool, true, 0, 1, none, at_start,                                                    \
      "a thread of Talus' own gives free memory back while the program is idle; 0: only calls "    \
      "of the allocator do")                                                                       \
  ROW(libc_calls, bool, false, 0, 1, none, at_start,                                               \
      "pages go by the C library's munmap, madvise and mremap, so that libraries that hook "       \
      "these see it; there is no helper then; 0: by system calls of Talus' own")                   \
  ROW(limit_soft, OptionAmount, OptionAmount{}, 0, std::uint64_t{1} << 47, bytes, while_running,   \
      "with more memory than that Talus gives free memory back at once; a percentage is one "      \
      "of the cgroup's memory limit; empty: 7/8 of the cgroup's limit; 0: none")                   \
  ROW(limit_hard, OptionAmount, OptionAmount{}, 0, std::uint64_t{1} << 47, bytes, while_running,   \
      "an allocation with which Talus would have more memory than that fails; a percentage "       \
      "is one of the cgroup's memory limit; empty or 0: none")                                     \
  ROW(thp, HugePages, HugePages::adaptive, 0, 2, none, while_running,                              \
      "huge pages are asked for: never, where a large process fills its memory, or always")        \
  ROW(pressure, bool, false, 0, 1, none, at_start,                                                 \
      "while the kernel reports memory pressure (PSI), all free memory goes back at once")         \
  ROW(provider, ProviderChoice, ProviderChoice{}, 0, 0, none, at_start,                            \
      "where memory comes from: the kernel; SIZE bytes, taken at the start; or a file without a "  \
      "name in a directory, growing or with all its size at the start")                            \
  ROW(name_mappings, bool, false, 0, 1, none, at_start,                                            \
      "memory from the kernel is [anon:talus] in /proc/PID/maps, where the kernel has names")      \
  ROW(mode, HeapMode, HeapMode::none, 0, 4, none, at_start,                                        \
      "none; checked: each invalid free stops at once, at little cost; hardened: so does a "       \
      "free behind whose block was written, freed blocks read as zero, and a write to one is "     \
      "found; mapped: each block ends where memory ends, so that an overrun or a use after free "  \
      "faults at once, for tests; mapped-underrun: each begins there")                             \
  ROW(check_kinds, bool, false, 0, 1, none, at_start,                                              \
      "mode checked: a block of new is for delete, of new[] for delete[], of malloc for free")     \
  ROW(check_sizes, bool, false, 0, 1, none, at_start,                                              \
      "mode checked: the size in a sized delete and in free_sized is one that the block serves")   \
  ROW(thread_quarantine_bytes, std::uint64_t, std::uint64_t{128} << 10, 0, std::uint64_t{1} << 32, \
      bytes, at_start,                                                                             \
      "mode hardened: freed blocks that each thread holds back before they are used again, in "    \
      "random order, at most 4160 blocks; blocks above an eighth of it do not wait")               \
  ROW(quarantine_bytes, std::uint64_t, std::uint64_t{4} << 30, 0, std::uint64_t{1} << 46, bytes,   \
      at_start,                                                                                    \
      "mapped blocks, and those above 256 KiB in mode hardened: addresses of freed blocks that "   \
      "stay inaccessible before they are used again; addresses only, no memory")                   \
  ROW(mapped_mappings, std::uint64_t, 0, 0, 1000000000, none, at_start,                            \
      "mapped blocks: mappings that they may have, two for each live block above 56 KiB, and "     \
      "for all before Linux 6.13; beyond that blocks are ordinary; 0: three quarters of "          \
      "vm.max_map_count")                                                                          \
  ROW(mapped_blocks, std::uint64_t, 262144, 0, std::uint64_t{1} << 40, none, at_start,             \
      "mapped blocks: live ones at a time, each with a page of memory at least; beyond that "      \
      "blocks are ordinary")                                                                       \
  ROW(fill, FillChoice, FillChoice{}, 0, 0, none, at_start,                                        \
      "what blocks hold when they are allocated and freed, 0 to 255 or 0x0 to 0xff; junk: "        \
      "alloc=0xa5,free=0x5a; zero: alloc=0,free=0; perturb: what MALLOC_PERTURB_ asks of glibc")   \
  ROW(random, std::uint64_t, 1, 0, ~std::uint64_t{0} >> 1, none, at_start,                         \
      "where the first blocks lie; 1: at random addresses, 0: at those where the kernel's "        \
      "addresses begin, another number: at the same ones for the same number")                     \
  ROW(guard_pages, bool, false, 0, 1, none, at_start,                                              \
      "pages without access end each slab, and surround each large block and Talus' own data; "    \
      "thp=adaptive asks for no huge pages then")                                                  \
  ROW(keep_classes, bool, false, 0, 1, none, at_start,                                             \
      "addresses that had a slab of one size class are used for slabs of this class only")         \
  ROW(profile, std::uint64_t, 0, 0, 4294967295, bytes, at_start,                                   \
      "mean number of bytes between two sampled blocks of the heap profile, which `talus "         \
      "profile PID` reads; 512KiB is usual; 0: no block is sampled")                               \
  ROW(guard, std::uint64_t, 0, 0, 4294967295, bytes, at_start,                                     \
      "mean number of bytes between two guarded blocks, which begin or end at a page without "     \
      "access, and whose freed pages fault; `talus explain` tells what happened; 16MiB is "        \
      "usual; 0: none")                                                                            \
  ROW(guard_report, bool, false, 0, 1, none, at_start,                                             \
      "a handler of SIGSEGV and SIGBUS prints one line about a guarded block, with addresses of "  \
      "code, and then runs the handler before it; 0: no handler is set")                           \
  ROW(heap_tools, bool, true, 0, 1, none, at_start,                                                \
      "while a heap tool stands before malloc and forwards to it, operator new and delete call "   \
      "malloc and free by name, so that the tool sees them; 0: they never do")                     \
  ROW(observers, Observers, Observers::kernel, 0, 2, none, at_start,                               \
      "which processes may look into this one by `talus stats` and command it by `talus ctl`: "    \
      "those that the kernel allows; any of the same user, also where Yama forbids it; none: "     \
      "commands are refused")                                                                      \
  ROW(verbose, bool, false, 0, 1, none, at_start,                                                  \
      "one line at start with the version, the options in effect and the limits found")

// The values. A default-constructed Options holds the defaults of the table, and is a constant
// initialiser: a global Options needs no start-up code.
struct Options {
#define TALUS_OPTION_FIELD(name, type, value, min, max, unit, reload, help) type name{value};
  TALUS_OPTION_ROWS(TALUS_OPTION_FIELD)
#undef TALUS_OPTION_FIELD
};

// Names a row; also its index in option_rows.
enum class OptionId : std::uint8_t {
#define TALUS_OPTION_ID(name, type, value, min, max, unit, reload, help) name,
  TALUS_OPTION_ROWS(TALUS_OPTION_ID)
#undef TALUS_OPTION_ID
};

// All names and sentences one behind the other; OptionPlaces gives the place of each. There is no
// object of that type.
#define TALUS_OPTION_TEXT(name, type, value, min, max, unit, reload, help) #name "\0" help "\0"
inline constexpr char option_texts[] = "\0" TALUS_OPTION_ROWS(TALUS_OPTION_TEXT);
#undef TALUS_OPTION_TEXT
struct OptionPlaces {
  char empty[1];
#define TALUS_OPTION_PLACE(name, type, value, min, max, unit, reload, help) \
  char name##_name[sizeof(#name)];                                          \
  char name##_help[sizeof(help)];
  TALUS_OPTION_ROWS(TALUS_OPTION_PLACE)
#undef TALUS_OPTION_PLACE
};
static_assert(sizeof(OptionPlaces) + 1 == sizeof(option_texts), "same texts, same order");
using OptionRowText = PoolText<option_texts>;

// One row as data. All fields are constant.
struct OptionRow {
  OptionId id;
  OptionRowText name;  // lower case, as in Options
  OptionKind kind;
  std::uint64_t default_number;  // numbers, amounts: the value; booleans, words: the index; text: 0
  std::uint64_t min;
  std::uint64_t max;  // inclusive
  OptionUnit unit;
  OptionReload reload;
  OptionRowText help;  // a sentence without its full stop
};

// The allowed words, separated by '|'; empty for other types.
TALUS_START constexpr const char* option_words(OptionId id) noexcept {
#define TALUS_OPTION_WORDS(name, type, value, min, max, unit, reload, help) \
  if (id == OptionId::name) return OptionTypeOf<type>::words;
  TALUS_OPTION_ROWS(TALUS_OPTION_WORDS)
#undef TALUS_OPTION_WORDS
  return "";
}

// The type in which a row's default is written: a literal for texts, else the option's own type.
template <typename Value>
struct OptionDefault {
  using Type = Value;
};
template <>
struct OptionDefault<OptionText> {
  using Type = const char*;
};

constexpr std::uint64_t option_default_number(std::uint64_t value) { return value; }
constexpr std::uint64_t option_default_number(bool value) { return value ? 1 : 0; }
constexpr std::uint64_t option_default_number(const char*) { return 0; }  // all are empty
constexpr std::uint64_t option_default_number(OptionAmount value) { return value.value; }
constexpr std::uint64_t option_default_number(const ProviderChoice&) { return 0; }
constexpr std::uint64_t option_default_number(const FillChoice&) { return 0; }
template <typename Words, typename = std::enable_if_t<std::is_enum_v<Words>>>
constexpr std::uint64_t option_default_number(Words value) {
  return static_cast<std::uint64_t>(value);
}

inline constexpr OptionRow option_rows[] = {
#define TALUS_OPTION_ROW(name, type, value, min, max, unit, reload, help) \
  {OptionId::name,                                                        \
   OptionRowText{offsetof(OptionPlaces, name##_name)},                    \
   OptionTypeOf<type>::kind,                                              \
   option_default_number(OptionDefault<type>::Type{value}),               \
   min,                                                                   \
   max,                                                                   \
   OptionUnit::unit,                                                      \
   OptionReload::reload,                                                  \
   OptionRowText{offsetof(OptionPlaces, name##_help)}},
    TALUS_OPTION_ROWS(TALUS_OPTION_ROW)
#undef TALUS_OPTION_ROW
};

inline constexpr std::size_t option_count = sizeof(option_rows) / sizeof(option_rows[0]);

constexpr bool option_rows_are_sound() {
  for (std::size_t i = 0; i < option_count; ++i) {
    const OptionRow& row = option_rows[i];
    if (static_cast<std::size_t>(row.id) != i) return false;
    if (row.min > row.max) return false;
    if (row.default_number < row.min || row.default_number > row.max) return false;
    const bool is_measure = row.kind == OptionKind::number || row.kind == OptionKind::amount;
    if (!is_measure && row.unit != OptionUnit::none) return false;
    if (row.kind == OptionKind::amount && row.unit != OptionUnit::bytes) return false;
  }
  return true;
}
static_assert(option_rows_are_sound(), "defaults lie in their ranges; only measures have units");

// The values in effect. The start writes them. What may be reloaded later is written under the
// space lock.
TALUS_CONSTINIT inline Options options;

}  // namespace talus::core

#endif  // TALUS_SETTINGS_OPTIONS_HPP
