// SPDX-License-Identifier: MIT
//
// Owns: what the heap of another process has at an address that is no guarded block's.
// Invariant: only reads. It says what is known, and not whether the program has the block.
// Must not know: guarded blocks.

#ifndef TALUS_TOOLS_TALUS_EXPLAIN_OTHER_ADDRESS_HPP
#define TALUS_TOOLS_TALUS_EXPLAIN_OTHER_ADDRESS_HPP

#include <cstdint>
#include <string>

#include "observe/copies.hpp"
#include "observe/memory.hpp"

namespace talus::tool {

// A sentence.
std::string describe_address(const Memory& memory, const TalusCopy& copy, uint64_t address);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_EXPLAIN_OTHER_ADDRESS_HPP
