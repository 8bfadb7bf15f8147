// SPDX-License-Identifier: MIT
//
// Owns: what a code address of another process is: its file, the file's build id, its functions.
// Invariant: the process is only read; names come from its files, and from their debug files. A
// server is asked for those only at the user's request.
// Must not know: what the addresses are for.

#ifndef TALUS_TOOLS_TALUS_PROFILE_CODE_NAMES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_CODE_NAMES_HPP

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "elf_file.hpp"
#include "observe/copies.hpp"
#include "observe/memory.hpp"
#include "profile/debug_lines.hpp"
#include "profile/debug_server.hpp"

namespace talus::tool {

// Mapped code of one file.
struct CodeArea {
  Mapping mapping;
  uint64_t bias = 0;     // address in memory less address in the file's symbols
  std::string build_id;  // in hexadecimal; empty: none
};

// Where distributions install debug files.
constexpr const char* usual_debug_folder = "/usr/lib/debug";

// Where debug files are found.
struct DebugFiles {
  // With .build-id/ab/cdef.debug, as distributions install them.
  std::string folder = usual_debug_folder;
  double server_limit_s = 0;  // for each file that servers are asked for; 0: none is asked
};

// Where the files of a process are found.
struct CodeFiles {
  std::string root;  // before their paths; the process may be in a container
  DebugFiles debug;
};

class CodeNames {
 public:
  CodeNames(const Memory& memory, std::vector<Mapping> mappings, CodeFiles files);

  // Null: no file is mapped there. The pointer stays valid.
  const CodeArea* area_of(uint64_t address);
  // What is inlined at this address, innermost first, then the function whose code it is. Never
  // empty; a function without a name has no symbol.
  const std::vector<CodeLine>& lines_at(uint64_t address);

 private:
  struct File {
    std::vector<FunctionSymbol> symbols;
    DebugLines lines;
    bool has_lines = false;

    // Takes what the file at this path has.
    void add(const std::string& path, const std::string& build_id);
  };
  File& file_of(const CodeArea& area);
  void read_image(CodeArea& area) const;

  const Memory& memory_;
  std::vector<Mapping> mappings_;
  CodeFiles files_;
  DebugServer server_;
  std::map<uint64_t, CodeArea> areas_;  // by the start of the mapping
  std::map<std::string, File> opened_;  // by path
  std::map<uint64_t, std::vector<CodeLine>> known_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_CODE_NAMES_HPP
