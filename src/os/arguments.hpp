// SPDX-License-Identifier: MIT
// os/arguments: the types and bounds in the contract's signatures (os/contract.hpp).
//
// Owns: plain data that floors above pass to the operating system, or get from it. Invariant: no
// type of a system header, so that each operating system can fill these. Called on: any thread.
#ifndef TALUS_OS_ARGUMENTS_HPP
#define TALUS_OS_ARGUMENTS_HPP

#include "base/base.hpp"

namespace talus::core::os {

// Consecutive pages.
struct PageRun {
  void* at;
  size_t bytes;
};

// Facts of a file besides its contents.
struct FileFacts {
  bool is_regular = false;
  bool is_writable_by_others = false;  // than its owner: by a group or by all
  uint32_t owner = 0;
};

// Which file a descriptor names.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;

  bool operator==(const FileIdentity& other) const noexcept {
    return device == other.device && number == other.number;
  }
};

// Whether a mapping writes to its file.
enum class FileSharing : uint8_t { shared, own_copy };

// A file to write: it must not exist before, or text goes to its end.
enum class FileStart : uint8_t { fresh, append };

// What the process has used since it began.
struct ProcessUsage {
  uint64_t user_ms = 0;
  uint64_t system_ms = 0;
  uint64_t resident_peak_bytes = 0;  // of earlier programs in this process as well
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;
};

// More nodes than any kernel supports, and the bytes of a mapping's name, including the zero.
inline constexpr size_t nodes_max = 1024;
inline constexpr size_t mapping_name_bytes = 80;

// What an experiment on pages of Talus' own has shown of an answer.
enum class Verdict : uint8_t { unknown, holds, broken };

}  // namespace talus::core::os

#endif  // TALUS_OS_ARGUMENTS_HPP
