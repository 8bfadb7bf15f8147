// SPDX-License-Identifier: MIT
// base/audit: what exists only in audit builds (TALUS_AUDIT).
//
// Owns: the pace of costly checks, and the number of items that a pool made and handed out. A
// counter of a heap has an equation because slabs can be counted. A pool's items cannot: those in
// use are with their users. So audit builds count them a second time, where they change hands.
// Invariant: other builds have none of it, neither an instruction nor a byte.
// Called on: the thread that holds the pool's lock; the pace on any thread.
// Must not know: what the items are.
#ifndef TALUS_BASE_AUDIT_HPP
#define TALUS_BASE_AUDIT_HPP

#include <cstddef>

#include "base/atomic.hpp"
#include "base/attributes.hpp"

namespace talus::core {

#if TALUS_AUDIT

// Counts costly checks; wraps.
TALUS_CONSTINIT inline Atomic<uint32_t> shared_audit_turn;

// Should a check that looks at this many items run now? Few items are looked at each time. Of many,
// about one is looked at for each call, so that audits do not change how the work grows.
inline bool is_audit_due(size_t items) noexcept {
  constexpr size_t always_looked_at = 32, turns_least = 64;
  if (items <= always_looked_at) return true;
  const size_t turns = items > turns_least ? items : turns_least;
  return shared_audit_turn.stat_add(1) % turns == 0;
}

// The base of a pool whose items are never freed: made = out + unused.
class MadeItems {
 public:
  void note_made() noexcept {
    made_count_++;
    out_count_++;
  }
  void note_out(size_t items = 1) noexcept { out_count_ += items; }
  void note_back(size_t items = 1) noexcept { out_count_ -= items; }
  size_t made_count() const noexcept { return made_count_; }
  size_t out_count() const noexcept { return out_count_; }
  bool is_whole(size_t unused_count) const noexcept {
    return made_count_ == out_count_ + unused_count;
  }

 private:
  size_t made_count_ = 0;
  size_t out_count_ = 0;
};

#else

constexpr bool is_audit_due(size_t) noexcept { return false; }

class MadeItems {
 public:
  void note_made() noexcept {}
  void note_out(size_t = 1) noexcept {}
  void note_back(size_t = 1) noexcept {}
  size_t made_count() const noexcept { return 0; }
  size_t out_count() const noexcept { return 0; }
  bool is_whole(size_t) const noexcept { return true; }
};

#endif

}  // namespace talus::core

#endif  // TALUS_BASE_AUDIT_HPP
