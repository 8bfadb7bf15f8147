// SPDX-License-Identifier: MIT
//
// Owns: what another process keeps of its guarded blocks (src/modes/guarded_pool.hpp), as it was
// read, and which block an address belongs to.
// Invariant: only reads. A number that cannot be is an error, never a guess.
// Must not know: names of functions, words.

#ifndef TALUS_TOOLS_TALUS_EXPLAIN_GUARDED_RECORD_HPP
#define TALUS_TOOLS_TALUS_EXPLAIN_GUARDED_RECORD_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include "observe/copies.hpp"
#include "observe/memory.hpp"

namespace talus::tool {

struct GuardedTrace {
  uint64_t at_ns = 0;  // of the process's clock
  uint64_t thread = 0;
  std::vector<uint64_t> frames;  // return addresses, the innermost first
};

enum class GuardedState { unused, live, freed };

struct GuardedBlock {
  uint64_t page = 0;  // of the slot; pages without access lie on both sides
  uint64_t start = 0, bytes = 0;
  GuardedState state = GuardedState::unused;
  GuardedTrace made, freed;

  uint64_t end() const { return start + bytes; }
};

// What the process itself found wrong, or the handler of faults.
enum class GuardedEventKind { none, fault, double_free, invalid_free, freed_use, damage };
struct GuardedEvent {
  GuardedEventKind kind = GuardedEventKind::none;
  uint64_t address = 0;
  GuardedTrace trace;
};

struct GuardedRecord {
  uint64_t mean_bytes = 0;  // 0: no block is guarded
  uint64_t base = 0, page_bytes = 0;
  uint64_t made = 0, missed = 0;
  GuardedEvent event;
  std::vector<GuardedBlock> blocks;  // by address; also unused slots

  bool has(uint64_t address) const;
  // The block whose page or whose neighbouring page without access has the address; null: none was
  // near.
  const GuardedBlock* near(uint64_t address) const;
  size_t count(GuardedState state) const;
};

// Throws NotUnderstood if this Talus knows no guarded blocks, and Implausible.
GuardedRecord read_guarded(const Memory& memory, const TalusCopy& copy);

// When the process started, by its own clock; 0: not known.
uint64_t started_ns_of(const Memory& memory, const TalusCopy& copy);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_EXPLAIN_GUARDED_RECORD_HPP
