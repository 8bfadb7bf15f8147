// SPDX-License-Identifier: MIT
// tests/unit/modes/tallies: an observer of two-sided lists, which counts calls by class.
//
// Blocks that begin and end on two-sided lists are counted there (heap/sides.hpp). The mode is told
// of all others, one at a time. A count that is not exact is a call that was told and counted, or
// neither.
// Owns: the counts of blocks that it is told of. Called on: any thread, from slow paths; collect()
// and switching from a test.
#ifndef TALUS_TESTS_UNIT_MODES_TALLIES_HPP
#define TALUS_TESTS_UNIT_MODES_TALLIES_HPP

#include "heap/sides.hpp"
#include "modes/chain.hpp"
#include "paths/resize.hpp"

namespace talus::core::tallies {

// Blocks in slabs by class, and behind them those with ranges of their own.
inline constexpr size_t row_count = class_count + 1;

struct Rows {
  Rows* next = nullptr;  // constant; list of all
  Atomic<uint64_t> allocations[row_count];
  Atomic<uint64_t> frees[row_count];
};
TALUS_CONSTINIT inline Atomic<Rows*> shared_rows;

inline size_t row_of(void* block) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  return word.is_slab() ? index_of(class_of_tag(word.tag())) : class_count;
}
// Of a block that is no more, by its usable bytes.
inline size_t row_of_size(size_t usable) noexcept {
  const bool is_class =
      usable <= medium_bytes_max && size_class_row(class_of(usable)).block_bytes == usable;
  return is_class ? index_of(class_of(usable)) : class_count;
}

inline void count(ModeThread thread, Atomic<uint64_t>& row) noexcept {
  if (thread.cache == nullptr) {
    row.stat_add(1);
  } else {
    row.own_add(1);
  }
}
inline Rows& rows_of(ModeThread thread) noexcept { return *static_cast<Rows*>(thread.state); }

inline void count_allocate(ModeThread thread, void* block, size_t) noexcept {
  count(thread, rows_of(thread).allocations[row_of(block)]);
}
inline void count_free(ModeThread thread, void* block) noexcept {
  count(thread, rows_of(thread).frees[row_of(block)]);
}
inline void count_resize(ModeThread thread, void*, size_t usable, void* block,
                         size_t bytes) noexcept {
  if (block == nullptr) return;
  count(thread, rows_of(thread).frees[row_of_size(usable)]);
  count_allocate(thread, block, bytes);
}
inline size_t no_event(ModeThread, ClassId) noexcept { return SIZE_MAX; }
inline void pass(ModeThread, ClassId, size_t) noexcept {}

inline void enlist(ModeThread thread) noexcept {
  Rows& own = rows_of(thread);
  Rows* head = shared_rows.load_hint();  // the CAS rechecks
  do {
    own.next = head;
  } while (!shared_rows.cas_weak_release(head, &own));
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "tallies";
  mode.state_bytes = sizeof(Rows);
  mode.state_made = enlist;
  mode.note_allocate = count_allocate;
  mode.note_free = count_free;
  mode.end_resize = count_resize;
  mode.blocks_until_event = no_event;
  mode.note_blocks = pass;
  return mode;
}
inline constexpr Mode mode = make_mode();

struct Tallies {
  uint64_t allocations[row_count] = {};
  uint64_t frees[row_count] = {};
};

// Since the process began. Exact while no thread allocates; otherwise off by a call of each thread.
inline Tallies collect() noexcept {
  SideCounts sides;
  {
    Held held{registry.lock};
    const auto add = [&sides](ThreadCache& cache) noexcept {
      SidedContext* context = cache.shared_sides.load_acquire();
      Held heap_held{lock_of(cache)};  // no block moves between the two sides meanwhile
      if (context != nullptr) add_side_counts(sides, *context);
    };
    for_each_cache(held, add);
    for (ThreadCache* cache = registry.unused; cache != nullptr; cache = cache->next) add(*cache);
  }
  Tallies all;
  for (size_t index = 0; index < class_count; index++) {
    all.allocations[index] = sides.allocations[index];
    all.frees[index] = sides.frees[index];
  }
  for (Rows* own = shared_rows.load_acquire(); own != nullptr; own = own->next) {
    for (size_t row = 0; row < row_count; row++) {
      all.allocations[row] += own->allocations[row].load_stat();
      all.frees[row] += own->frees[row].load_stat();
    }
  }
  return all;
}
inline uint64_t sum_of(const uint64_t (&rows)[row_count]) noexcept {
  uint64_t sum = 0;
  for (const uint64_t row : rows) sum += row;
  return sum;
}

}  // namespace talus::core::tallies

#endif  // TALUS_TESTS_UNIT_MODES_TALLIES_HPP
