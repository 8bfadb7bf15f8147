// SPDX-License-Identifier: MIT
//
// Owns: what /proc tells of a live process: the objects mapped into it, its first environment,
// and whether it gained privileges when it was started.
// Invariant: only reads; the process is not stopped and notices nothing.
// Must not know: what the answer is used for.

#ifndef TALUS_TOOLS_TALUS_PROCESS_VIEW_HPP
#define TALUS_TOOLS_TALUS_PROCESS_VIEW_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf_file.hpp"

namespace talus::tool {

struct AddressRange {
  uint64_t begin;
  uint64_t end;
};

struct MappedObject {
  std::string path;  // as the process sees it
  bool is_deleted;   // the file was replaced or removed since
  std::optional<ElfFacts> facts;
  std::string file;                    // where we can read it, if there are facts
  std::string inode;                   // the device, too: no other object has it
  std::vector<AddressRange> ranges{};  // by address
  std::optional<size_t> turn{};        // when the loader searches it; nothing: never, or not known
};

struct ProcessView {
  std::string error;                     // one line; empty: the process could be read
  std::vector<MappedObject> objects;     // the main program first
  std::vector<std::string> environment;  // NAME=value, as it was at start
  // False if it cannot be read, or if the process wrote its title over it, as some servers do.
  bool is_environment_intact = false;
  bool is_secure = false;  // AT_SECURE: libraries ignore the environment
  std::string called_as;   // the path that was executed; empty: it cannot be read
  std::string file;        // of the main program, as the process sees it
  unsigned user_id = 0;    // the effective one
};

ProcessView view_process(const std::string& pid);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROCESS_VIEW_HPP
