// SPDX-License-Identifier: MIT
// reclaim/pass: what one walk over the sources of free memory carries along.
//
// Owns: nothing. Called on: the thread that walks. Must not know: the sources.
#ifndef TALUS_RECLAIM_PASS_HPP
#define TALUS_RECLAIM_PASS_HPP

#include "retention/retention.hpp"

namespace talus::core {

// What a pass of the background thread found.
struct DecayTally {
  size_t purged = 0;         // bytes that left, or came nearer to leaving
  size_t left = 0;           // bytes that may leave later
  size_t slabs = 0;          // bytes of slabs, less the free bytes of partly_purged ones
  size_t free_in_slabs = 0;  // of these, free and touched
  size_t surplus = 0;        // of heaps
};

// One walk for the goal (retention/goal.hpp).
struct GoalPass {
  Reclaimer reclaimer;  // which thread asks
  size_t bytes_most;    // to purge at a time, about
  // What the steps before found:
  size_t excess = 0;
  size_t wanted = 0;  // of slabs; 0: they were not asked
  size_t purged = 0;  // of these
  uint64_t begun_ms = 0;
};

}  // namespace talus::core

#endif  // TALUS_RECLAIM_PASS_HPP
