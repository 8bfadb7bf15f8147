// SPDX-License-Identifier: MIT
//
// Owns: the search for Talus in the memory of a process. Each mapped ELF file may have a note that
// leads to the observed state (src/observe/observed_state.hpp).
// Invariant: only memory is read, so a stripped, replaced or deleted file makes no difference. A
// file that is mapped as data and not loaded is passed over.
// Must not know: what the state leads to.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_COPIES_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_COPIES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "observe/layout.hpp"
#include "observe/memory.hpp"

namespace talus::tool {

struct Mapping {
  uint64_t begin;
  uint64_t end;
  uint64_t offset;
  bool is_readable;
  std::string path;
  bool is_writable = true;
};

// The lines of /proc/PID/maps.
std::vector<Mapping> read_mappings(const std::string& maps);

// One Talus in a process.
struct TalusCopy {
  std::string object;   // the file that carries it
  std::string version;  // empty: the file has no version note
  uint64_t state = 0;
  Layout layout;
};

struct FoundCopies {
  std::vector<TalusCopy> copies;
  std::string note;  // why one was passed over; empty: none
};

FoundCopies find_copies(const Memory& memory, const std::vector<Mapping>& mappings);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_COPIES_HPP
