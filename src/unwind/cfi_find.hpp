// SPDX-License-Identifier: MIT
// unwind/cfi_find: the call frame information of an address of code.
//
// Owns: the search in the sorted table of .eh_frame_hdr, and the reading of a frame description
// (FDE) with its common part (CIE). Invariant: all that is read lies in the module. What linkers do
// not write ends the search. Called on: any thread, without a lock. Must not know: what the
// instructions in a description do. Format: Linux Standard Base 5.0, 10.6.
#ifndef TALUS_UNWIND_CFI_FIND_HPP
#define TALUS_UNWIND_CFI_FIND_HPP

#include "base/base.hpp"
#include "unwind/table_reader.hpp"

namespace talus::core::unwind {

// A part of the address space with code and its tables.
struct Module {
  uintptr_t begin = 0, end = 0;
  uintptr_t header = 0;  // .eh_frame_hdr; 0: there is none

  bool has(uintptr_t address) const noexcept { return address - begin < end - begin; }
};

// What is common to the descriptions of a compiled unit.
struct CommonPart {
  uint64_t code_factor = 0;
  int64_t data_factor = 0;
  uint64_t return_number = 0;
  uint8_t pointer_encoding = 0;
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
  uintptr_t instructions = 0, end = 0;
};

struct FrameDescription {
  CommonPart common;
  uintptr_t code = 0, code_bytes = 0;
  uintptr_t instructions = 0, end = 0;
};

// Moves to the contents of an entry, and reads no further than its end. False: there is no entry.
inline bool enter_entry(TableReader& reader) noexcept {
  const uint64_t bytes = reader.read<uint32_t>();
  constexpr uint64_t wide = 0xffffffff;  // entries of 4 GiB and more: none is in memory
  if (!reader.is_good() || bytes == 0 || bytes >= wide) return false;
  reader.end_after(bytes);
  return reader.is_good();
}

// The letters that say what a common part has beside the rest. False: one of them is not known.
inline bool read_augmentation(TableReader& reader, uintptr_t letters, CommonPart& part) noexcept {
  TableReader text(letters, reader.end());
  uint8_t letter = text.read<uint8_t>();
  if (letter == 0) return true;
  if (letter != 'z') return false;
  part.has_augmentation_data = true;
  const uint64_t bytes = reader.read_unsigned();
  const uintptr_t data = reader.at();
  while ((letter = text.read<uint8_t>()) != 0) {
    if (letter == 'R') part.pointer_encoding = reader.read<uint8_t>();
    if (letter == 'L') reader.read<uint8_t>();
    if (letter == 'P') {
      const auto encoding = reader.read<uint8_t>();
      reader.read_number(encoding);
    }
    if (letter == 'S') part.is_signal_frame = true;
    constexpr uint8_t known[] = {'R', 'L', 'P', 'S', 'B', 'G'};  // B and G are of AArch64
    bool is_known = false;
    for (const uint8_t one : known) is_known |= letter == one;
    if (!is_known) return false;
  }
  const uint64_t bytes_read = reader.at() - data;
  if (!reader.is_good() || bytes_read > bytes) return false;
  reader.skip(bytes - bytes_read);
  return reader.is_good();
}

inline bool read_common(const Module& module, uintptr_t at, CommonPart& part) noexcept {
  if (!module.has(at)) return false;
  TableReader reader(at, module.end);
  if (!enter_entry(reader) || reader.read<uint32_t>() != 0) return false;
  const auto version = reader.read<uint8_t>();
  if (version != 1 && version != 3) return false;
  const uintptr_t letters = reader.at();
  while (reader.is_good() && reader.read<uint8_t>() != 0) {}
  part.code_factor = reader.read_unsigned();
  part.data_factor = reader.read_signed();
  part.return_number = version == 1 ? reader.read<uint8_t>() : reader.read_unsigned();
  if (!read_augmentation(reader, letters, part)) return false;
  part.instructions = reader.at();
  part.end = reader.end();
  return reader.is_good();
}

// The description at this place, if it is of this code.
inline bool read_description(const Module& module, uintptr_t at, uintptr_t code,
                             FrameDescription& found) noexcept {
  if (!module.has(at)) return false;
  TableReader reader(at, module.end);
  if (!enter_entry(reader)) return false;
  const uintptr_t here = reader.at();
  const uint64_t distance = reader.read<uint32_t>();
  if (!reader.is_good() || distance == 0 || distance > here - module.begin) return false;
  if (!read_common(module, here - distance, found.common)) return false;
  const uint8_t encoding = found.common.pointer_encoding;
  if ((encoding & TableReader::is_indirect) != 0) return false;
  found.code = reader.read_pointer(encoding);
  found.code_bytes = reader.read_number(encoding);
  if (found.common.has_augmentation_data) reader.skip(reader.read_unsigned());
  found.instructions = reader.at();
  found.end = reader.end();
  return reader.is_good() && code - found.code < found.code_bytes;
}

// Finds the description of the code at this address. False: the module has none.
TALUS_APART bool find_description(const Module& module, uintptr_t code,
                                  FrameDescription& found) noexcept {
  TALUS_ASSERT(module.has(code));
  if (module.header == 0 || !module.has(module.header)) return false;
  TableReader head(module.header, module.end);
  constexpr uint8_t version = 1, count_as_4_bytes = 0x03, sorted_from_header = 0x3b;
  if (head.read<uint8_t>() != version) return false;
  const auto frames_encoding = head.read<uint8_t>();
  const auto count_encoding = head.read<uint8_t>();
  const auto rows_encoding = head.read<uint8_t>();
  if (count_encoding != count_as_4_bytes || rows_encoding != sorted_from_header) return false;
  head.read_number(frames_encoding);
  const size_t count = head.read<uint32_t>();
  const uintptr_t rows = head.at();
  if (!head.is_good() || count > (module.end - rows) / 8) return false;
  const auto row_at = [&](size_t index) noexcept {
    TableReader row(rows + index * 8, module.end);
    const uintptr_t first = module.header + static_cast<uint64_t>(int64_t{row.read<int32_t>()});
    const uintptr_t entry = module.header + static_cast<uint64_t>(int64_t{row.read<int32_t>()});
    struct Row {
      uintptr_t code, entry;
      bool is_good;
    };
    return Row{first, entry, row.is_good()};
  };
  size_t low = 0, high = count;  // the row is below `high`, and not below `low` if there is one
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    const auto row = row_at(middle);
    if (!row.is_good) return false;
    (row.code <= code ? low : high) = middle;
  }
  if (count == 0) return false;
  const auto row = row_at(low);
  return row.is_good && row.code <= code && read_description(module, row.entry, code, found);
}

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_CFI_FIND_HPP
