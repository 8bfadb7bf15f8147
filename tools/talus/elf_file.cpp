// SPDX-License-Identifier: MIT
//
// Owns: the walk through an ELF64 file. It looks for notes in the note segments, which survive a
// stripped section table. It also looks in the sections, which survive a linker that left the note
// out of every segment. Libraries are read from the dynamic segment, as the loader does.
// Invariant: see elf_file.hpp; no read is larger than part_bytes_max.
// Must not know: the running process.

#include "elf_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace talus::tool {
namespace {

constexpr uint64_t part_bytes_max = uint64_t{64} << 20;

// A file open for reads at given offsets.
class FilePieces {
 public:
  explicit FilePieces(const std::string& path)
      // O_NONBLOCK: a path from a process map may have become a pipe, and opening it must not
      // block.
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status;
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) return;
    if (S_ISREG(status.st_mode)) bytes_ = static_cast<uint64_t>(status.st_size);
  }
  FilePieces(const FilePieces&) = delete;
  FilePieces& operator=(const FilePieces&) = delete;
  ~FilePieces() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Returns all of [offset, offset + bytes), or nothing.
  std::vector<char> read(uint64_t offset, uint64_t bytes) const {
    if (bytes > part_bytes_max || offset > bytes_ || bytes > bytes_ - offset) return {};
    std::vector<char> piece(bytes);
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(descriptor_, piece.data() + done, bytes - done,
                                  static_cast<off_t>(offset + done));
      if (got <= 0) return {};
      done += static_cast<size_t>(got);
    }
    return piece;
  }

 private:
  int descriptor_;     // constant; -1: could not be opened
  uint64_t bytes_{0};  // constant; 0: not a regular file
};

// Returns all `count` entries of a table, or none.
template <typename Entry>
std::vector<Entry> read_table(const FilePieces& file, uint64_t offset, size_t count) {
  const std::vector<char> piece = file.read(offset, count * sizeof(Entry));
  std::vector<Entry> table(piece.size() / sizeof(Entry));
  if (!table.empty()) std::memcpy(table.data(), piece.data(), table.size() * sizeof(Entry));
  return table;
}

// The zero-terminated text at `offset` of a piece; empty if it has no end inside.
std::string text_at(const std::vector<char>& piece, uint64_t offset) {
  if (offset >= piece.size()) return {};
  const std::string_view rest(piece.data() + offset, piece.size() - offset);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string{} : std::string(rest.substr(0, end));
}

constexpr uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

// The version in a run of notes that are padded to `step` bytes.
std::optional<std::string> find_talus_note(const std::vector<char>& notes, uint64_t step) {
  uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const uint64_t name = at + sizeof header;
    const uint64_t body = round_up(name + header.n_namesz, step);
    if (body > notes.size() || header.n_descsz > notes.size() - body) return {};
    if (header.n_type == 1 && header.n_namesz == sizeof "Talus" &&
        std::memcmp(notes.data() + name, "Talus", sizeof "Talus") == 0) {
      const std::string_view version(notes.data() + body, header.n_descsz);
      return std::string(version.substr(0, version.find('\0')));
    }
    at = round_up(body + header.n_descsz, step);
  }
  return {};
}

constexpr uint64_t note_step(uint64_t alignment) { return alignment == 8 ? 8 : 4; }

void read_segment_notes(const FilePieces& file, const std::vector<Elf64_Phdr>& segments,
                        ElfFacts& facts) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || facts.talus_version) continue;
    facts.talus_version =
        find_talus_note(file.read(segment.p_offset, segment.p_filesz), note_step(segment.p_align));
  }
}

void read_section_notes(const FilePieces& file, const Elf64_Ehdr& header, ElfFacts& facts) {
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto sections = read_table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  if (header.e_shstrndx >= sections.size()) return;
  const Elf64_Shdr& names_section = sections[header.e_shstrndx];
  const std::vector<char> names = file.read(names_section.sh_offset, names_section.sh_size);
  for (const Elf64_Shdr& section : sections) {
    if (facts.talus_version || section.sh_type == SHT_NOBITS) continue;
    if (text_at(names, section.sh_name) != ".note.talus") continue;
    facts.talus_version = find_talus_note(file.read(section.sh_offset, section.sh_size),
                                          note_step(section.sh_addralign));
  }
}

// The file offset of an address of the loaded image. Unmapped addresses give an offset past the
// end.
uint64_t offset_of_address(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return ~uint64_t{0};
}

void read_dynamic(const FilePieces& file, const std::vector<Elf64_Phdr>& segments,
                  ElfFacts& facts) {
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    entries = read_table<Elf64_Dyn>(file, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
  }
  uint64_t strings_address = 0;
  uint64_t strings_bytes = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings_address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
  }
  const auto strings = file.read(offset_of_address(segments, strings_address), strings_bytes);
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(text_at(strings, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) facts.soname = text_at(strings, entry.d_un.d_val);
  }
}

}  // namespace

std::optional<ElfFacts> read_elf(const std::string& path) {
  const FilePieces file(path);
  const std::vector<char> start = file.read(0, sizeof(Elf64_Ehdr));
  Elf64_Ehdr header{};
  if (start.empty()) return {};
  std::memcpy(&header, start.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};

  ElfFacts facts;
  facts.machine = header.e_machine;  // at the same offset in 32-bit files
  facts.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!facts.is_64_bit || header.e_ident[EI_DATA] != ELFDATA2LSB) return facts;
  if (header.e_phentsize != sizeof(Elf64_Phdr) && header.e_phnum != 0) return facts;

  const auto segments = read_table<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    facts.interpreter = text_at(file.read(segment.p_offset, segment.p_filesz), 0);
  }
  read_dynamic(file, segments, facts);
  read_segment_notes(file, segments, facts);
  read_section_notes(file, header, facts);
  return facts;
}

namespace {

// A file of this class and byte order with a section table. Other files have no symbols to look up.
struct SymbolFile {
  explicit SymbolFile(const std::string& path) : file(path) {
    const std::vector<char> start = file.read(0, sizeof(Elf64_Ehdr));
    if (start.empty()) return;
    std::memcpy(&header, start.data(), sizeof header);
    const bool is_ours = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                         header.e_ident[EI_CLASS] == ELFCLASS64 &&
                         header.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!is_ours || header.e_shentsize != sizeof(Elf64_Shdr)) return;
    sections = read_table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  }

  // The first symbol section of this type; null: there is none.
  const Elf64_Shdr* table_of(uint32_t type) const {
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == type && section.sh_link < sections.size()) return &section;
    }
    return nullptr;
  }

  // The defined symbol of this name that is_kind accepts.
  template <typename IsKind>
  std::optional<Elf64_Sym> find(const Elf64_Shdr& table, const std::string& name,
                                IsKind is_kind) const {
    const Elf64_Shdr& names_section = sections[table.sh_link];
    const std::vector<char> names = file.read(names_section.sh_offset, names_section.sh_size);
    for (const Elf64_Sym& symbol :
         read_table<Elf64_Sym>(file, table.sh_offset, table.sh_size / sizeof(Elf64_Sym))) {
      if (is_kind(ELF64_ST_TYPE(symbol.st_info)) && symbol.st_shndx != SHN_UNDEF &&
          text_at(names, symbol.st_name) == name)
        return symbol;
    }
    return {};
  }

  FilePieces file;
  Elf64_Ehdr header{};
  std::vector<Elf64_Shdr> sections;
};

}  // namespace

std::optional<bool> defines_function(const std::string& path, const std::string& name) {
  const SymbolFile symbols(path);
  const Elf64_Shdr* const table = symbols.table_of(SHT_DYNSYM);
  if (table == nullptr) return {};
  return symbols
      .find(*table, name, [](unsigned kind) { return kind == STT_FUNC || kind == STT_GNU_IFUNC; })
      .has_value();
}

namespace {

// The value of a tag of the dynamic section; 0: absent.
uint64_t dynamic_value(const std::vector<Elf64_Dyn>& entries, int64_t tag) {
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return 0;
}

}  // namespace

FunctionSlots slots_of_function(const std::string& path, const std::string& name) {
  const FilePieces file(path);
  const std::vector<char> start = file.read(0, sizeof(Elf64_Ehdr));
  Elf64_Ehdr header{};
  if (start.empty()) return {};
  std::memcpy(&header, start.data(), sizeof header);
  const auto segments = read_table<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  FunctionSlots slots;
  std::vector<Elf64_Dyn> entries;
  bool is_first = true;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && is_first) {
      slots.first_address = segment.p_vaddr - segment.p_offset;
      is_first = false;
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    entries = read_table<Elf64_Dyn>(file, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
  }
  const auto offset_of = [&](int64_t tag) {
    return offset_of_address(segments, dynamic_value(entries, tag));
  };
  const std::vector<char> names = file.read(offset_of(DT_STRTAB), dynamic_value(entries, DT_STRSZ));
  for (const auto& [table, bytes] : {std::pair{DT_JMPREL, DT_PLTRELSZ}, {DT_RELA, DT_RELASZ}}) {
    if (dynamic_value(entries, table) == 0) continue;
    for (const Elf64_Rela& entry : read_table<Elf64_Rela>(
             file, offset_of(table), dynamic_value(entries, bytes) / sizeof(Elf64_Rela))) {
      const uint64_t symbol_index = ELF64_R_SYM(entry.r_info);
      if (symbol_index == 0) continue;
      const auto symbol =
          read_table<Elf64_Sym>(file, offset_of(DT_SYMTAB) + symbol_index * sizeof(Elf64_Sym), 1);
      if (symbol.empty() || text_at(names, symbol.front().st_name) != name) continue;
      slots.addresses.push_back(entry.r_offset);
    }
  }
  return slots;
}

std::optional<std::string> read_text_symbol(const std::string& path, const std::string& name,
                                            SymbolScope scope) {
  constexpr uint64_t text_bytes_max = 64 << 10;
  const SymbolFile symbols(path);
  for (const uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    if (type == SHT_SYMTAB && scope == SymbolScope::exported) break;
    const Elf64_Shdr* const table = symbols.table_of(type);
    if (table == nullptr) continue;
    const auto found = symbols.find(*table, name, [](unsigned kind) { return kind == STT_OBJECT; });
    if (!found || found->st_size > text_bytes_max) continue;
    const auto segments =
        read_table<Elf64_Phdr>(symbols.file, symbols.header.e_phoff, symbols.header.e_phnum);
    return text_at(symbols.file.read(offset_of_address(segments, found->st_value), found->st_size),
                   0);
  }
  return {};
}

bool is_preloadable_allocator(const std::string& path) {
  const std::optional<ElfFacts> facts = read_elf(path);
  return facts && facts->is_64_bit && facts->machine == own_machine &&
         defines_function(path, "malloc").value_or(true);
}

}  // namespace talus::tool
