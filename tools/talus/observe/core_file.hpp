// SPDX-License-Identifier: MIT
//
// Owns: the memory of a process in its core file, as the kernel, gcore and gdb write it.
// Invariant: what the core file left out is read from the mapped file, if that is still the same.
// Must not know: what the bytes mean.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_CORE_FILE_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_CORE_FILE_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "observe/copies.hpp"
#include "observe/memory.hpp"

namespace talus::tool {

// The file is no core file, or cannot be read; one line.
struct NoCoreFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class CoreFile : public Memory {
 public:
  // Throws NoCoreFile.
  explicit CoreFile(const std::string& path);
  ~CoreFile() override;
  void read(const std::vector<Piece>& pieces) const override;

  // The files that were mapped, and the memory that the file has, which has no name.
  const std::vector<Mapping>& mappings() const { return mappings_; }
  std::optional<uint64_t> process_id() const { return process_id_; }

 private:
  struct Segment {
    uint64_t begin, end;  // of what the file has
    uint64_t offset;
  };
  void read_headers();
  void read_mapped_files(const char* description, size_t bytes);
  // How many bytes from this address on were read, from the core file or from a mapped one.
  size_t read_some(uint64_t address, size_t bytes, char* to) const;
  size_t read_from_mapped_file(uint64_t address, size_t bytes, char* to) const;
  // Is the first page of the file, where the core file has it, the one that was mapped?
  bool is_same_file(const Mapping& mapping, int descriptor) const;

  int descriptor_;
  std::vector<Segment> segments_;  // by address
  std::vector<Mapping> mappings_;
  std::optional<uint64_t> process_id_;
  mutable std::map<std::string, int> files_;  // open ones; -1: not to be read
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_CORE_FILE_HPP
