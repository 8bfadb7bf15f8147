// SPDX-License-Identifier: MIT
//
// Owns: how far a walk from object to object of another process goes.
// Invariant: each walk ends; one that leads back to where it was ends soon after its first round.
// Must not know: what the objects are.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_CHAIN_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_CHAIN_HPP

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "observe/memory.hpp"

namespace talus::tool {

// Brent's way of finding a loop: the address of each object is compared with that of the object
// that was last at a power of two.
class Chain {
 public:
  // `what`: "a list of arenas".
  Chain(const char* what, size_t most) : what_(what), most_(most) {}

  // The walk comes to this object. Throws Implausible if the chain has no end.
  void pass(uint64_t address) {
    if (count_ == most_ || address == mark_) {
      throw Implausible(fmt::format("{} without an end", what_));
    }
    count_++;
    if (count_ >= short_chain && (count_ & (count_ - 1)) == 0) mark_ = address;
  }

 private:
  // No two places of a short chain are compared. So an object that a running process moves to the
  // front meanwhile tears the look, as ever, and is no damage.
  static constexpr size_t short_chain = 4096;

  const char* what_;
  size_t most_;
  size_t count_ = 0;
  uint64_t mark_ = 0;  // 0: none yet
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_CHAIN_HPP
