// SPDX-License-Identifier: MIT
// reclaim/sample_areas: areas of sampled blocks as a source of memory: their pages without blocks.
//
// Owns: nothing; heap/sample_areas.hpp has the areas. Invariants: pages that are being purged count
// as used, so no block gets them and their area stays. The kernel is entered without the space
// lock, under registry.decaying, for which forks wait. Areas in huge pages are left alone, because
// a purge would split these pages. The highest pages go first: blocks are taken from below.
// Called on: the background thread, or a thread that purges at once; without locks.
// Must not know: which blocks are sampled.
#ifndef TALUS_RECLAIM_SAMPLE_AREAS_HPP
#define TALUS_RECLAIM_SAMPLE_AREAS_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/registry.hpp"
#include "heap/sample_areas.hpp"
#include "reclaim/page_runs.hpp"
#include "reclaim/pass.hpp"

namespace talus::core::sample_areas {

// Pages that are purged between two holds of the space lock.
struct AreaBatch {
  static constexpr size_t runs_max = 64, looks_max = 64;
  os::PageRun runs[runs_max];
  Area* areas[runs_max];  // of each run
  bool is_purged[runs_max];
  size_t count = 0;
  size_t bytes = 0;  // of all runs
};

// Where a walk through the pages of all areas is: below `end`, a unit of `area`; null: at its end.
struct AreaPlace {
  Area* area;
  size_t end = SIZE_MAX;
};

inline bool may_purge_parts(Held<SpaceLock>& held, const Area& area) noexcept
    TALUS_REQUIRES(space.lock()) {
  return area.base != 0 && !is_in_huge_pages(held, area) && space.may_purge_pages(area.base);
}

// Where the free pages with contents begin that lie below this unit; `end`: there are none.
inline size_t run_below(Area& area, size_t end, size_t units_max) noexcept {
  const size_t page_units = os::page_bytes() / unit_bytes;
  size_t at = end;
  while (at != 0 && end - at < units_max) {
    const size_t page = at - page_units;
    if (!area.is_free_page(page) || area.empty_row().has(page / page_units)) break;
    at = page;
  }
  return at;
}

// Takes pages of the place's area until the batch is full. True: it was gone through.
inline bool collect_pages(Held<SpaceLock>& held, AreaPlace& place, size_t bytes_wanted,
                          AreaBatch& batch) noexcept TALUS_REQUIRES(space.lock()) {
  Area& area = *place.area;
  const auto is_full = [&batch, bytes_wanted]() noexcept {
    return batch.count == AreaBatch::runs_max || batch.bytes >= bytes_wanted;
  };
  if (is_full()) return false;
  if (place.end >= area.units()) {  // its beginning, or of a smaller one that came in between
    place.end = area.units();
    if (!area.may_give || !may_purge_parts(held, area)) return true;
    area.may_give = false;
  }
  while (place.end != 0) {
    if (is_full()) return false;
    const size_t units_left = (bytes_wanted - batch.bytes) / unit_bytes;
    const size_t at = run_below(area, place.end, units_left != 0 ? units_left : 1);
    if (const size_t units = place.end - at; units != 0) {
      hold_units(held, area, at, units);
      batch.runs[batch.count] = {reinterpret_cast<void*>(area.base + at * unit_bytes),
                                 units * unit_bytes};
      batch.areas[batch.count] = &area;
      batch.is_purged[batch.count++] = false;
      batch.bytes += units * unit_bytes;
      place.end = at;
    } else {
      place.end -= os::page_bytes() / unit_bytes;
    }
  }
  return true;
}

// The pages of a batch are free again. Returns the bytes that were purged.
inline size_t end_batch(Held<SpaceLock>& held, const AreaBatch& batch, size_t calls) noexcept
    TALUS_REQUIRES(space.lock()) {
  size_t bytes = 0;
  for (size_t i = 0; i < batch.count; i++) {
    Area& area = *batch.areas[i];
    const size_t at = (reinterpret_cast<uintptr_t>(batch.runs[i].at) - area.base) / unit_bytes;
    const size_t units = batch.runs[i].bytes / unit_bytes;
    TALUS_ASSERT(at + units <= area.units());
    if (batch.is_purged[i]) {
      note_empty(area, at, at + units);
      bytes += batch.runs[i].bytes;
    }
    return_units(held, area, at, units);
  }
  space.count_purged(held, bytes, calls);
  return bytes;
}

// Purges free pages of areas until this was `bytes_wanted`. Returns how much it was.
TALUS_USUAL size_t purge_pages(size_t bytes_wanted) noexcept {
  AreaPlace place{nullptr};
  {
    Held held{space.lock()};
    place.area = areas.newest;
    areas.may_give = false;
  }
  size_t purged = 0;
  while (place.area != nullptr && purged < bytes_wanted) {
    Held decaying{registry.decaying};
    AreaBatch batch;
    {
      Held held{space.lock()};
      for (size_t looks = 0; place.area != nullptr && looks < AreaBatch::looks_max; looks++) {
        if (!collect_pages(held, place, bytes_wanted - purged, batch)) break;
        place = AreaPlace{place.area->made_before};
      }
    }
    if (batch.count == 0) continue;
    const size_t calls = purge_page_runs(
        batch.runs, batch.count, [&batch](size_t i) noexcept { batch.is_purged[i] = true; });
    Held held{space.lock()};
    purged += end_batch(held, batch, calls);
  }
  if (place.area != nullptr) {
    Held held{space.lock()};
    place.area->may_give = areas.may_give = true;
  }
  return purged;
}

}  // namespace talus::core::sample_areas

namespace talus::core {

TALUS_USUAL void areas_in_background(uint64_t turns, DecayTally& tally) noexcept {
  size_t surplus = 0;
  {
    Held held{space.lock()};
    const size_t free = sample_areas::areas.free_touched_bytes();
    sample_areas::areas.free_mark.note(free);
    for (; turns > 0; turns--) sample_areas::areas.free_mark.turn(free);
    if (!sample_areas::areas.may_give) return;
    surplus = sample_areas::areas.free_mark.surplus();
    if (surplus >= surplus_bytes_min) surplus = space.without_burst(held, surplus);
    tally.left += free;
  }
  if (surplus < surplus_bytes_min) return;
  const size_t purged = sample_areas::purge_pages(surplus);
  tally.purged += purged;
  Held held{space.lock()};
  sample_areas::areas.free_mark.subtract_purged(purged);
}

inline void purge_all_areas() noexcept { sample_areas::purge_pages(SIZE_MAX); }
inline void areas_on_request(size_t) noexcept { purge_all_areas(); }

}  // namespace talus::core

#endif  // TALUS_RECLAIM_SAMPLE_AREAS_HPP
