// SPDX-License-Identifier: MIT
//
// Owns: the sentences about a guarded block, what was wrong with it, and who had it when.
// Invariant: each fact is one that was read. A guess is called one.
// Must not know: how records are read.

#ifndef TALUS_TOOLS_TALUS_EXPLAIN_WORDS_HPP
#define TALUS_TOOLS_TALUS_EXPLAIN_WORDS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/guarded_record.hpp"
#include "profile/code_names.hpp"

namespace talus::tool {

// By the process's clock.
struct Times {
  uint64_t started_ns = 0;         // 0: not known
  std::optional<uint64_t> now_ns;  // nothing: the process is no more
};

class Words {
 public:
  // `object` is the file that carries Talus: its frames are left out.
  Words(CodeNames& names, std::string object, Times times)
      : names_(names), object_(std::move(object)), times_(times) {}

  // "main (server+0x12f6, main.cpp:12)", with what was inlined there before it, one a line. The
  // call that returns to this address.
  std::vector<std::string> places(uint64_t return_address);
  // What the process itself found wrong; empty: nothing.
  std::string event(const GuardedEvent& event, const GuardedBlock* block);
  // Where an address lies in relation to a block, and which mistake that means.
  std::string access(uint64_t address, const GuardedBlock& block);
  // The life of a block.
  std::string life(const GuardedBlock& block);

 private:
  std::string trace(const std::string& what, const GuardedTrace& trace);
  std::string moment(uint64_t at_ns) const;

  CodeNames& names_;
  std::string object_;
  Times times_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_EXPLAIN_WORDS_HPP
