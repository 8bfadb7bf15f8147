// SPDX-License-Identifier: MIT
// settings/machine: what the process learnt of its machine at start, and its memory limits. The
// limits follow from the machine, from the options and from calls of the program.
//
// Owns: the machine's figures (written once, at start, as the options are) and the limits in effect
// (which talus_set_limits may change at any time). Invariants: zero always means "none"; a soft
// limit is never above the hard one. Read on slow paths, on any thread.
// Must not know: where figures are read (machine/cgroup.hpp), and what is done at a limit.
#ifndef TALUS_SETTINGS_MACHINE_HPP
#define TALUS_SETTINGS_MACHINE_HPP

#include "base/base.hpp"
#include "settings/options.hpp"

namespace talus::core {

struct MachineLimits {
  size_t memory_bytes = 0;  // allowed by the control groups of the process; 0: no limit
  size_t cpu_quota = 0;     // processors' worth of time allowed, rounded up; 0: no quota
};

TALUS_CONSTINIT inline MachineLimits machine;

// How many of `allowed` processors the quota leaves time for.
inline size_t within_quota(size_t allowed) noexcept {
  return machine.cpu_quota != 0 && machine.cpu_quota < allowed ? machine.cpu_quota : allowed;
}

struct LimitBytes {
  size_t soft_bytes = 0;  // above this, free memory is purged at once; 0: none
  size_t hard_bytes = 0;  // above this, allocations fail; 0: none
};

// The default of the soft limit, as a part of the group's limit. The rest is room for memory that
// is not Talus' (the page cache, stacks, other processes of the group).
inline constexpr size_t soft_eighths = 7;

// `percent` of `bytes`, but at least one byte: a small limit must not become none.
constexpr size_t percent_of(size_t bytes, uint64_t percent) noexcept {
  const size_t part = bytes / 100 * percent + bytes % 100 * percent / 100;
  return bytes != 0 && part == 0 ? 1 : part;
}

// The bytes of an amount on this machine; 0: none.
constexpr size_t bytes_of(const OptionAmount& amount, const MachineLimits& found) noexcept {
  if (amount.kind != AmountKind::percent) return amount.value;
  return percent_of(found.memory_bytes, amount.value);
}

constexpr LimitBytes below_each_other(LimitBytes bytes) noexcept {
  const bool is_above = bytes.hard_bytes != 0 && bytes.soft_bytes > bytes.hard_bytes;
  return {is_above ? bytes.hard_bytes : bytes.soft_bytes, bytes.hard_bytes};
}

// The limits that the options set on this machine. A percentage of no limit is none.
TALUS_START constexpr LimitBytes effective_limits(const Options& wanted,
                                                  const MachineLimits& found) noexcept {
  LimitBytes bytes{bytes_of(wanted.limit_soft, found), bytes_of(wanted.limit_hard, found)};
  if (wanted.limit_soft.kind == AmountKind::unset) {
    const size_t rest = found.memory_bytes % 8 * soft_eighths / 8;
    bytes.soft_bytes = found.memory_bytes / 8 * soft_eighths + rest;
  }
  return below_each_other(bytes);
}

// Called, without locks, before an allocation fails at the hard limit; result not 0: try once more.
using LimitHandler = int (*)(size_t wanted_bytes);

// The limits in effect. Each word is read and written by itself, in any order. A concurrent reader
// may see an old word beside a new one.
struct EffectiveLimits {
  Atomic<size_t> soft_bytes;
  Atomic<size_t> hard_bytes;
  // Stored with release, to be loaded with acquire: another thread that calls the handler must see
  // what the program prepared for it.
  Atomic<LimitHandler> handler;

  TALUS_START void set(LimitBytes wanted) noexcept {
    const LimitBytes bytes = below_each_other(wanted);
    soft_bytes.store_hint(bytes.soft_bytes);  // read anew at each use
    hard_bytes.store_hint(bytes.hard_bytes);
  }
};
TALUS_CONSTINIT inline EffectiveLimits limits;

}  // namespace talus::core

#endif  // TALUS_SETTINGS_MACHINE_HPP
