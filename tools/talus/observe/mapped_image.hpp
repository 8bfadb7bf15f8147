// SPDX-License-Identifier: MIT
//
// Owns: what the head of an ELF file in the memory of a process says of its parts.
// Invariant: only memory is read, so a replaced or deleted file makes no difference. Each count is
// bounded before it is used.
// Must not know: what the parts hold.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_MAPPED_IMAGE_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_MAPPED_IMAGE_HPP

#include <elf.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "observe/memory.hpp"

namespace talus::tool {

struct MappedImage {
  std::vector<Elf64_Phdr> segments;  // empty: no ELF file of 64 bits and this byte order
  std::optional<uint64_t> moved_by;  // address in memory less address in the file; nothing: unknown
};

// The file whose first page lies at `start`.
MappedImage image_at(const Memory& memory, uint64_t start);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_MAPPED_IMAGE_HPP
