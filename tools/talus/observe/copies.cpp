// SPDX-License-Identifier: MIT
//
// Owns: the way from a mapped file to its note, and from there to the state and the table.
// Invariant: every offset and count is bounded before it is used.
// Must not know: what the state leads to.

#include "observe/copies.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>

#include "observe/mapped_image.hpp"
#include "observe/observed_table.hpp"

namespace talus::tool {
namespace {

constexpr size_t notes_bytes_max = size_t{16} << 20;
constexpr uint32_t fields_max = 4096;

struct Note {
  uint64_t state = 0;
  uint64_t table = 0;
  std::string version;
};

// Reads the notes of one segment, which begins at this address. Some linkers put notes of different
// alignment into one segment, where no walk from note to note is right. So each place is tried.
void read_notes(const std::vector<char>& notes, uint64_t address, Note& found) {
  constexpr size_t name_bytes = 8;  // "Talus", padded
  constexpr size_t head_bytes = sizeof(Elf64_Nhdr) + name_bytes;
  for (size_t at = 0; at + head_bytes <= notes.size(); at += sizeof(uint32_t)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const size_t body = at + head_bytes;
    if (header.n_namesz != sizeof "Talus" || header.n_descsz > notes.size() - body) continue;
    if (std::memcmp(notes.data() + at + sizeof header, "Talus", sizeof "Talus") != 0) continue;
    const std::string_view text(notes.data() + body, header.n_descsz);
    if (header.n_type == 1) found.version = std::string(text.substr(0, text.find('\0')));
    if (header.n_type == core::observed_note_type && header.n_descsz >= 2 * sizeof(uint64_t)) {
      uint64_t distances[2];
      std::memcpy(distances, notes.data() + body, sizeof distances);
      found.state = address + body + distances[0];
      found.table = address + body + sizeof(uint64_t) + distances[1];
    }
  }
}

// The note of the ELF file whose first page lies here; state 0: it has none.
Note note_of(const Memory& memory, uint64_t start) {
  Note found;
  const MappedImage image = image_at(memory, start);
  if (!image.moved_by) return found;
  for (const Elf64_Phdr& segment : image.segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > notes_bytes_max) continue;
    const uint64_t address = *image.moved_by + segment.p_vaddr;
    read_notes(bytes_at(memory, address, segment.p_filesz), address, found);
  }
  return found;
}

bool is_mapped(const std::vector<Mapping>& mappings, uint64_t address) {
  return std::any_of(mappings.begin(), mappings.end(), [address](const Mapping& mapping) {
    return mapping.begin <= address && address < mapping.end;
  });
}

// The offset in ObservedState at which addresses of objects begin.
constexpr size_t roots_offset = sizeof(core::observed_magic) + 2 * sizeof(uint32_t);

// False: the file is mapped, and not loaded.
bool read_table(const Memory& memory, const std::vector<Mapping>& mappings, const Note& note,
                Layout& layout) {
  const auto state = bytes_at(memory, note.state, roots_offset);
  if (std::memcmp(state.data(), core::observed_magic, sizeof core::observed_magic) != 0) {
    return false;
  }
  uint32_t numbers[2];
  std::memcpy(numbers, state.data() + sizeof core::observed_magic, sizeof numbers);
  const auto head = value_at<core::ObservedTable<1>>(memory, note.table);
  if (numbers[0] != core::observed_version || head.version != core::observed_version ||
      head.field_bytes < sizeof(core::ObservedField) || head.field_count > fields_max ||
      numbers[1] > 65536) {
    throw NotUnderstood("this command is older than the process's Talus and cannot read it");
  }
  const auto whole = bytes_at(memory, note.state, numbers[1]);
  const uint64_t first = note.table + offsetof(core::ObservedTable<1>, fields);
  const auto table = bytes_at(memory, first, size_t{head.field_count} * head.field_bytes);
  for (uint32_t i = 0; i < head.field_count; i++) {
    core::ObservedField row;
    std::memcpy(&row, table.data() + size_t{i} * head.field_bytes, sizeof row);
    row.name[sizeof row.name - 1] = '\0';
    if (row.bytes == 0 || row.bytes > 8 || row.count == 0) continue;
    if (row.kind != core::ObservedKind::root) {
      layout.add(row.name, {row.value, row.count, row.stride, row.bytes});
    } else if (size_t{row.value} + sizeof(uint64_t) <= whole.size()) {
      uint64_t address = 0;
      std::memcpy(&address, whole.data() + row.value, sizeof address);
      if (!is_mapped(mappings, address)) return false;
      layout.set_root(row.name, address);
    }
  }
  return true;
}

}  // namespace

std::vector<Mapping> read_mappings(const std::string& maps) {
  std::vector<Mapping> mappings;
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    Mapping mapping{};
    char permissions[8] = {};
    int path = 0;
    unsigned long long begin = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %*s %*s %n", &begin, &end, permissions,
                    &offset, &path) < 4) {
      continue;
    }
    mapping.begin = begin;
    mapping.end = end;
    mapping.offset = offset;
    mapping.is_readable = permissions[0] == 'r';
    mapping.is_writable = permissions[1] == 'w';
    if (path > 0) mapping.path = line.substr(static_cast<size_t>(path));
    mappings.push_back(mapping);
  }
  return mappings;
}

FoundCopies find_copies(const Memory& memory, const std::vector<Mapping>& mappings) {
  FoundCopies found;
  for (const Mapping& mapping : mappings) {
    const bool is_file = !mapping.path.empty() && mapping.path[0] == '/';
    if (!is_file || mapping.offset != 0 || !mapping.is_readable) continue;
    try {
      const Note note = note_of(memory, mapping.begin);
      const bool is_known =
          std::any_of(found.copies.begin(), found.copies.end(),
                      [&](const TalusCopy& copy) { return copy.state == note.state; });
      if (note.state == 0 || is_known) continue;
      TalusCopy copy{mapping.path, note.version, note.state, {}};
      if (read_table(memory, mappings, note, copy.layout)) found.copies.push_back(copy);
    } catch (const Implausible&) {
      continue;  // no file that was loaded
    } catch (const NotUnderstood& error) {
      found.note = fmt::format("{}: {}", mapping.path, error.what());
    }
  }
  return found;
}

}  // namespace talus::tool
