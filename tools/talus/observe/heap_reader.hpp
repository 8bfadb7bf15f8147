// SPDX-License-Identifier: MIT
//
// Owns: one walk over the heaps of another process, and its sums.
// Invariant: see heap_numbers.hpp. The parts of each sum are of one look.
// Must not know: pages.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_HEAP_READER_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_HEAP_READER_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "observe/heap_numbers.hpp"

namespace talus::tool {

// The blocks of one class.
struct Blocks {
  uint64_t slabs = 0, live = 0, listed = 0, remote = 0, free = 0;
};

struct Totals {
  std::vector<Blocks> classes;
  uint64_t live_large = 0, live_large_count = 0, kept_large = 0, purged_in_slabs = 0;
  uint64_t heap_count = 0, abandoned_count = 0, cache_count = 0;
  uint64_t instance_count = 0, instance_live = 0, instance_total = 0;
  uint64_t region_live = 0, region_total = 0;
  std::string at_work;
};

inline void note_at_work(Totals& totals, const char* what) {
  if (totals.at_work.empty()) totals.at_work = what;
}

inline uint64_t less_or_none(uint64_t value, uint64_t by) { return value > by ? value - by : 0; }

class HeapReader {
 public:
  HeapReader(Look& look, const Layout& layout, const SizeClasses& classes, PageMapView& page_map,
             Numbers& numbers, PieceNotes* notes)
      : look_(look),
        layout_(layout),
        classes_(classes),
        map_(page_map),
        numbers_(numbers),
        notes_(notes) {
    totals_.classes.resize(classes.rows.size());
  }

  std::string read() {
    read_registry();
    read_instances();
    settle_blocks();
    read_space();
    read_purges();
    read_calls();
    return totals_.at_work;
  }

 private:
  void read_registry();
  void read_heap_at(uint64_t number, uint64_t address);
  // Caches that a fork left behind have no thread, and so no number.
  enum class CacheKind { in_use, orphaned };
  void read_caches(uint64_t first, CacheKind kind);
  ThreadNumbers read_cache_at(const View& cache, const char* copy);
  uint64_t list_blocks(uint64_t top, uint64_t bottom, bool has_gaps);
  void read_sides(uint64_t address, ThreadNumbers& thread);
  std::vector<uint64_t> read_begun(uint64_t sides);
  uint64_t read_allocated(uint64_t cache, const std::vector<uint64_t>& begun);
  uint64_t read_message(uint64_t address, uint64_t& next);
  void read_queue(uint64_t first);
  void read_instances();
  void read_instance_at(uint64_t number, uint64_t address, uint64_t region);
  void settle_blocks();
  void read_space();
  void read_burst();
  void read_purges();
  void read_calls();
  void set(core::StatisticId id, uint64_t value) { numbers_[id] = value; }

  Look& look_;
  const Layout& layout_;
  const SizeClasses& classes_;
  PageMapView& map_;
  Numbers& numbers_;
  PieceNotes* notes_;  // null: none are wanted
  Totals totals_;
  uint64_t in_slabs_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_HEAP_READER_HPP
