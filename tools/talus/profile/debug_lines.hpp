// SPDX-License-Identifier: MIT
//
// Owns: the debug information of one file: which lines of source an address is, and what the
// compiler inlined there. libdw reads it.
// Invariant: the file is not trusted; what cannot be read is not known. No network is used.
// Must not know: processes, and where debug files lie.

#ifndef TALUS_TOOLS_TALUS_PROFILE_DEBUG_LINES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_DEBUG_LINES_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace talus::tool {

// A function at an address, and the line in it.
struct CodeLine {
  std::string symbol;    // as in the file
  std::string function;  // demangled; empty: not known
  std::string file;      // empty: not known
  uint32_t line = 0;     // 0: not known
  uint32_t first_line = 0;
};

class DebugLines {
 public:
  DebugLines();
  DebugLines(DebugLines&&) noexcept;
  DebugLines& operator=(DebugLines&&) noexcept;
  ~DebugLines();

  // False: the file has no debug information, or is another build than `build_id` (in
  // hexadecimal; empty: any).
  bool open(const std::string& path, const std::string& build_id);
  // The innermost inlined function first, the one whose code it is last. Empty: not known.
  // `address` is as in the file.
  std::vector<CodeLine> at(uint64_t address);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;  // null: nothing is open
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_DEBUG_LINES_HPP
