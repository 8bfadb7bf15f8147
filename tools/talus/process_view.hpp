// SPDX-License-Identifier: MIT
//
// Owns: the facts of /proc about a live process: its mapped objects, its first environment, and
// whether it gained privileges at its start.
// Invariant: only reads; the process is not stopped and notices nothing.
// Must not know: the use of the facts.

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
  std::string file;                    // a path that can be read here, if there are facts
  std::string inode;                   // with the device; unique to the object
  std::vector<AddressRange> ranges{};  // by address
  std::optional<size_t> turn{};        // place in the loader's search; nothing: never, or not known
};

struct ProcessView {
  std::string error;                     // one line; empty: success
  std::vector<MappedObject> objects;     // the main program first
  std::vector<std::string> environment;  // NAME=value, as at the start
  // False if the environment cannot be read. Also false if the process wrote its title over it, as
  // some servers do.
  bool is_environment_intact = false;
  bool is_secure = false;  // AT_SECURE: libraries ignore the environment
  std::string called_as;   // the executed path; empty: it cannot be read
  std::string file;        // of the main program, as the process sees it
  unsigned user_id = 0;    // the effective user
};

ProcessView view_process(const std::string& pid);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROCESS_VIEW_HPP
