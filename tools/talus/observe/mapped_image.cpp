// SPDX-License-Identifier: MIT
//
// Owns: see mapped_image.hpp.
// Invariant: see mapped_image.hpp.
// Must not know: what the parts hold.

#include "observe/mapped_image.hpp"

#include <cstring>

namespace talus::tool {
namespace {

constexpr size_t segments_max = 256;

}  // namespace

MappedImage image_at(const Memory& memory, uint64_t start) {
  MappedImage image;
  const auto header = value_at<Elf64_Ehdr>(memory, start);
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64 &&
                      header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!is_elf || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > segments_max) {
    return image;
  }
  const std::vector<char> table =
      bytes_at(memory, start + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  image.segments.resize(header.e_phnum);
  if (!image.segments.empty()) std::memcpy(image.segments.data(), table.data(), table.size());
  for (const Elf64_Phdr& segment : image.segments) {
    if (segment.p_type != PT_LOAD || segment.p_offset != 0) continue;
    image.moved_by = start - segment.p_vaddr;
  }
  return image;
}

}  // namespace talus::tool
