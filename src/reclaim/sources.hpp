// SPDX-License-Identifier: MIT
// reclaim/sources: all sources of free memory, and the order in which they are walked.
//
// How much is purged: retention/goal.hpp. Memory flows inward, from the caches of threads to slabs,
// from slabs to free ranges, from free ranges to the kernel. So there are two walks:
//
//   outward  From the ranges to the caches. What a source gives up rests in the one before it
//            until the next pass, so all memory has time to be used again. The background thread
//            walks so. A thread that purges for the goal does, too, because ranges cost least.
//   inward   From the caches to the ranges. What a source gives up leaves in the same walk.
//
// A column of the table is a kind of walk. The thread in the background runs without thread-local
// variables, so its columns call no function that has the caller's cache.
//   in background   outward  the surplus (retention/goal.hpp)
//   to the goal     outward  the excess. Where slabs had some, the caller's lists are flushed after
//                            the walk (gather_blocks).
//   under pressure  inward   all but what threads hold: other processes need it more
//   early           inward   what a young process of one thread has (reclaim/early_purge.hpp)
//   on request      inward   all: malloc_trim, talus_release, an allocation that failed
//   on command      inward   all but orphaned caches: another process asks the background thread
//
// Large blocks that a thread keeps, and batches for other heaps, are parts of its cache.
// Owns: the table. Called on: the background thread, or a thread that purges at once; without
// locks.
#ifndef TALUS_RECLAIM_SOURCES_HPP
#define TALUS_RECLAIM_SOURCES_HPP

#include "base/base.hpp"
#include "retention/retention.hpp"
#include "space/space.hpp"
#include "reclaim/caches.hpp"
#include "reclaim/pass.hpp"
#include "reclaim/ranges.hpp"
#include "reclaim/sample_areas.hpp"
#include "reclaim/slabs.hpp"

namespace talus::core {

// What a source gives; null: nothing.
struct Source {
  const char* name;
  void (*in_background)(uint64_t turns, DecayTally& tally) noexcept;
  void (*to_goal)(GoalPass& pass) noexcept;
  void (*under_pressure)() noexcept;
  void (*early)() noexcept;
  void (*on_request)(size_t keep_bytes) noexcept;  // of free ranges
  void (*on_command)(size_t keep_bytes) noexcept;
};

// Outward. On request huge pages are given up first: then slabs in them can be purged by the page.
inline constexpr Source sources[] = {
    {"free ranges", ranges_in_background, ranges_to_goal, purge_all_ranges, purge_dirty_ranges,
     purge_ranges_beyond, purge_ranges_beyond},
    {"slabs", slabs_in_background, slabs_to_goal, purge_all_holes, slabs_early, slabs_on_request,
     slabs_on_request},
    {"sample areas", areas_in_background, nullptr, purge_all_areas, nullptr, areas_on_request,
     areas_on_request},
    {"idle caches", idle_caches_in_background, nullptr, nullptr, nullptr, idle_caches_on_request,
     idle_caches_on_command},
    {"orphaned caches", nullptr, nullptr, nullptr, nullptr, orphaned_caches_on_request, nullptr},
    {"own cache", nullptr, nullptr, nullptr, own_cache_early, own_cache_on_request, nullptr},
    {"huge pages", huge_pages_in_background, huge_pages_to_goal, nullptr, nullptr, split_huge_pages,
     split_huge_pages},
};
inline constexpr size_t source_count = sizeof sources / sizeof sources[0];

// Calls step(source) for each, as code without a loop: the steps are known to the compiler.
template <size_t Next = 0, typename Step>
void walk_outward(Step step) noexcept {
  constexpr Source source = sources[Next];
  step(source);
  if constexpr (Next + 1 < source_count) walk_outward<Next + 1>(step);
}
template <size_t Left = source_count, typename Step>
void walk_inward(Step step) noexcept {
  constexpr Source source = sources[Left - 1];
  step(source);
  if constexpr (Left > 1) walk_inward<Left - 1>(step);
}

TALUS_USUAL void purge_in_background(uint64_t turns, DecayTally& tally) noexcept {
  const PurgeReason reason{space.purge_causes(), PurgeCause::decay};
  walk_outward([&](const Source& source) noexcept {
    if (source.in_background != nullptr) source.in_background(turns, tally);
  });
}
inline void purge_under_pressure() noexcept {
  const PurgeReason reason{space.purge_causes(), PurgeCause::pressure};
  walk_inward([](const Source& source) noexcept {
    if (source.under_pressure != nullptr) source.under_pressure();
  });
}
inline void purge_early() noexcept {
  walk_inward([](const Source& source) noexcept {
    if (source.early != nullptr) source.early();
  });
}
inline void purge_on_request(size_t keep_bytes) noexcept {
  walk_inward([keep_bytes](const Source& source) noexcept { source.on_request(keep_bytes); });
}

// As on request, on the background thread.
TALUS_APART void purge_on_command(size_t keep_bytes) noexcept {
  walk_inward([keep_bytes](const Source& source) noexcept {
    if (source.on_command != nullptr) source.on_command(keep_bytes);
  });
}

// Purges free touched memory beyond the goal, at most about `bytes_most`. Returns whether slabs
// kept too much.
inline bool reclaim_to_goal(Reclaimer reclaimer, size_t bytes_most) noexcept {
  space.relax();
  GoalPass pass{reclaimer, bytes_most};
  walk_outward([&pass](const Source& source) noexcept {
    if (source.to_goal != nullptr) source.to_goal(pass);
  });
  return pass.excess >= surplus_bytes_min;
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_SOURCES_HPP
