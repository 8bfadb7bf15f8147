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

// The signal by which a process died, or at which it stands in a debugger.
struct CoreSignal {
  int number = 0;
  int code = 0;          // as in siginfo_t
  uint64_t address = 0;  // of a fault
  std::optional<uint64_t> thread, code_address;
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
  // Nothing: no thread was ended by one.
  const std::optional<CoreSignal>& deadly_signal() const { return signal_; }

 private:
  struct Segment {
    uint64_t begin, end;  // of what the file has
    uint64_t offset;
  };
  void read_headers();
  void read_thread(const char* description, size_t bytes);
  void read_signal(const char* description, size_t bytes);
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
  std::optional<CoreSignal> signal_;
  std::optional<uint64_t> thread_, code_address_;  // of the thread whose notes are read
  mutable std::map<std::string, int> files_;       // open ones; -1: not to be read
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_CORE_FILE_HPP
