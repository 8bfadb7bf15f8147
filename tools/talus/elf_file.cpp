// SPDX-License-Identifier: MIT
//
// Owns: the questions to an ELF64 file; libelf reads it. Notes are looked for in the note segments,
// which survive a stripped section table, and in the sections, which survive a linker that left the
// note out of every segment. Libraries are read from the dynamic segment, as the loader does.
// Invariant: see elf_file.hpp; no read is larger than part_bytes_max.
// Must not know: the running process.

#include "elf_file.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace talus::tool {
namespace {

constexpr uint64_t part_bytes_max = uint64_t{64} << 20;

// A part of a file. libelf owns the bytes and frees them with the file.
class Part {
 public:
  explicit Part(Elf_Data* data) : data_(data) {}
  Elf_Data* data() const { return data_; }
  // How many entries of its type it has.
  int count(size_t entry_bytes) const {
    return data_ == nullptr ? 0 : static_cast<int>(data_->d_size / entry_bytes);
  }
  std::string_view bytes() const {
    if (data_ == nullptr || data_->d_buf == nullptr) return {};
    return {static_cast<const char*>(data_->d_buf), data_->d_size};
  }
  // The zero-terminated text at an offset; empty if it has no end inside.
  std::string text_at(uint64_t offset) const {
    if (offset >= bytes().size()) return {};
    const std::string_view rest = bytes().substr(offset);
    const size_t end = rest.find('\0');
    return end == rest.npos ? std::string{} : std::string(rest.substr(0, end));
  }

 private:
  Elf_Data* data_;  // null: not in the file
};

class ElfReader {
 public:
  explicit ElfReader(const std::string& path)
      // O_NONBLOCK: a path from a process map may have become a pipe, and opening it must not
      // block.
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status;
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
    bytes_ = static_cast<uint64_t>(status.st_size);
    if (elf_version(EV_CURRENT) != EV_NONE) elf_ = elf_begin(descriptor_, ELF_C_READ, nullptr);
    is_elf_ = elf_kind(elf_) == ELF_K_ELF && gelf_getehdr(elf_, &header_) != nullptr;
  }
  ElfReader(const ElfReader&) = delete;
  ElfReader& operator=(const ElfReader&) = delete;
  ~ElfReader() {
    elf_end(elf_);
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  bool is_elf() const { return is_elf_; }
  bool is_64_bit() const { return is_elf_ && header_.e_ident[EI_CLASS] == ELFCLASS64; }
  // Of this class and byte order; others have nothing that is looked up.
  bool is_ours() const { return is_64_bit() && header_.e_ident[EI_DATA] == ELFDATA2LSB; }
  uint16_t machine() const { return header_.e_machine; }

  std::vector<GElf_Phdr> segments() const {
    std::vector<GElf_Phdr> all;
    size_t count = 0;
    if (!is_ours() || header_.e_phentsize != sizeof(Elf64_Phdr)) return all;
    if (elf_getphdrnum(elf_, &count) != 0) return all;
    GElf_Phdr one;
    for (size_t i = 0; i < count && gelf_getphdr(elf_, static_cast<int>(i), &one) != nullptr; i++) {
      all.push_back(one);
    }
    return all;
  }

  // Calls see(section, its header) until it returns true.
  template <typename See>
  void for_each_section(See see) const {
    if (!is_ours() || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
    GElf_Shdr header;
    for (Elf_Scn* at = elf_nextscn(elf_, nullptr); at != nullptr; at = elf_nextscn(elf_, at)) {
      if (gelf_getshdr(at, &header) != nullptr && see(at, header)) return;
    }
  }
  const char* section_name(const GElf_Shdr& section) const {
    size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return "";
    return text_in(names, section.sh_name);
  }
  // The text at an offset of the section `index`; "": there is none.
  const char* text_in(size_t index, size_t offset) const {
    const char* const text = elf_strptr(elf_, index, offset);
    return text == nullptr ? "" : text;
  }

  Part part(uint64_t offset, uint64_t bytes, Elf_Type type = ELF_T_BYTE) const {
    if (bytes > part_bytes_max || offset > bytes_ || bytes > bytes_ - offset) return Part(nullptr);
    return Part(elf_getdata_rawchunk(elf_, static_cast<int64_t>(offset), bytes, type));
  }

 private:
  int descriptor_;     // constant; -1: could not be opened
  uint64_t bytes_{0};  // constant; 0: not a regular file
  Elf* elf_ = nullptr;
  bool is_elf_ = false;
  GElf_Ehdr header_{};
};

// The version in a run of notes.
std::optional<std::string> find_talus_note(const Part& notes) {
  GElf_Nhdr header;
  size_t name = 0;
  size_t body = 0;
  for (size_t at = 0; notes.data() != nullptr && at < notes.bytes().size();) {
    at = gelf_getnote(notes.data(), at, &header, &name, &body);
    if (at == 0) return {};
    if (header.n_type == 1 &&
        notes.bytes().substr(name, header.n_namesz) == std::string_view("Talus", sizeof "Talus")) {
      const std::string_view version = notes.bytes().substr(body, header.n_descsz);
      return std::string(version.substr(0, version.find('\0')));
    }
  }
  return {};
}

constexpr Elf_Type note_type(uint64_t alignment) {
  return alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
}

std::optional<std::string> talus_version_of(const ElfReader& file) {
  std::optional<std::string> version;
  for (const GElf_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_NOTE || version) continue;
    version =
        find_talus_note(file.part(segment.p_offset, segment.p_filesz, note_type(segment.p_align)));
  }
  if (version) return version;
  file.for_each_section([&](Elf_Scn*, const GElf_Shdr& section) {
    if (section.sh_type == SHT_NOBITS) return false;
    if (std::string_view(file.section_name(section)) != ".note.talus") return false;
    version = find_talus_note(
        file.part(section.sh_offset, section.sh_size, note_type(section.sh_addralign)));
    return version.has_value();
  });
  return version;
}

// The file offset of an address of the loaded image. Unmapped addresses give an offset past the
// end.
uint64_t offset_of_address(const std::vector<GElf_Phdr>& segments, uint64_t address) {
  for (const GElf_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return ~uint64_t{0};
}

// The entries of the dynamic segment, up to its end.
std::vector<GElf_Dyn> dynamic_entries(const ElfReader& file,
                                      const std::vector<GElf_Phdr>& segments) {
  std::vector<GElf_Dyn> entries;
  for (const GElf_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    entries.clear();
    const Part part = file.part(segment.p_offset, segment.p_filesz, ELF_T_DYN);
    GElf_Dyn entry;
    for (int i = 0; i < part.count(sizeof(Elf64_Dyn)); i++) {
      if (gelf_getdyn(part.data(), i, &entry) == nullptr || entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
    }
  }
  return entries;
}

// The value of a tag; 0: absent.
uint64_t value_of(const std::vector<GElf_Dyn>& entries, int64_t tag) {
  for (const GElf_Dyn& entry : entries) {
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return 0;
}

}  // namespace

std::optional<ElfFacts> read_elf(const std::string& path) {
  const ElfReader file(path);
  if (!file.is_elf()) return {};
  ElfFacts facts;
  facts.machine = file.machine();
  facts.is_64_bit = file.is_64_bit();
  const std::vector<GElf_Phdr> segments = file.segments();
  for (const GElf_Phdr& segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    facts.interpreter = file.part(segment.p_offset, segment.p_filesz).text_at(0);
  }
  const std::vector<GElf_Dyn> entries = dynamic_entries(file, segments);
  const Part strings = file.part(offset_of_address(segments, value_of(entries, DT_STRTAB)),
                                 value_of(entries, DT_STRSZ));
  for (const GElf_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(strings.text_at(entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) facts.soname = strings.text_at(entry.d_un.d_val);
  }
  facts.talus_version = talus_version_of(file);
  return facts;
}

namespace {

constexpr bool is_function(unsigned kind) { return kind == STT_FUNC || kind == STT_GNU_IFUNC; }

// Calls see(symbol, name) for the defined symbols of the first table of this type, until it returns
// true. False: there is no such table.
template <typename See>
bool for_each_symbol(const ElfReader& file, uint32_t type, See see) {
  bool has_table = false;
  file.for_each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != type) return false;
    has_table = true;
    const Part table(elf_getdata(section, nullptr));
    GElf_Sym symbol;
    for (int i = 0; i < table.count(sizeof(Elf64_Sym)); i++) {
      if (gelf_getsym(table.data(), i, &symbol) == nullptr) break;
      if (symbol.st_shndx == SHN_UNDEF) continue;
      if (see(symbol, file.text_in(header.sh_link, symbol.st_name))) break;
    }
    return true;
  });
  return has_table;
}

struct FoundSymbols {
  bool has_table = false;
  std::optional<GElf_Sym> symbol;
};

// The defined symbol of this name that is_kind accepts, in the first table of this type.
template <typename IsKind>
FoundSymbols find_symbol(const ElfReader& file, uint32_t type, const std::string& name,
                         IsKind is_kind) {
  FoundSymbols found;
  found.has_table = for_each_symbol(file, type, [&](const GElf_Sym& symbol, const char* its_name) {
    if (!is_kind(GELF_ST_TYPE(symbol.st_info)) || name != its_name) return false;
    found.symbol = symbol;
    return true;
  });
  return found;
}

}  // namespace

std::optional<bool> defines_function(const std::string& path, const std::string& name) {
  const ElfReader file(path);
  const FoundSymbols found = find_symbol(file, SHT_DYNSYM, name, is_function);
  if (!found.has_table) return {};
  return found.symbol.has_value();
}

FunctionSlots slots_of_function(const std::string& path, const std::string& name) {
  const ElfReader file(path);
  const std::vector<GElf_Phdr> segments = file.segments();
  FunctionSlots slots;
  for (const GElf_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    slots.first_address = segment.p_vaddr - segment.p_offset;
    break;
  }
  const std::vector<GElf_Dyn> entries = dynamic_entries(file, segments);
  const auto offset_of = [&](int64_t tag) {
    return offset_of_address(segments, value_of(entries, tag));
  };
  std::vector<GElf_Rela> relocations;
  uint64_t symbol_count = 0;
  for (const auto& [table, bytes] : {std::pair{DT_JMPREL, DT_PLTRELSZ}, {DT_RELA, DT_RELASZ}}) {
    if (value_of(entries, table) == 0) continue;
    const Part part = file.part(offset_of(table), value_of(entries, bytes), ELF_T_RELA);
    GElf_Rela one;
    for (int i = 0; i < part.count(sizeof(Elf64_Rela)); i++) {
      if (gelf_getrela(part.data(), i, &one) == nullptr || GELF_R_SYM(one.r_info) == 0) continue;
      relocations.push_back(one);
      symbol_count = std::max<uint64_t>(symbol_count, GELF_R_SYM(one.r_info) + 1);
    }
  }
  const Part names = file.part(offset_of(DT_STRTAB), value_of(entries, DT_STRSZ));
  const Part symbols = file.part(offset_of(DT_SYMTAB), symbol_count * sizeof(Elf64_Sym), ELF_T_SYM);
  for (const GElf_Rela& one : relocations) {
    GElf_Sym symbol;
    const int index = static_cast<int>(GELF_R_SYM(one.r_info));
    if (symbols.data() == nullptr || gelf_getsym(symbols.data(), index, &symbol) == nullptr) break;
    if (names.text_at(symbol.st_name) == name) slots.addresses.push_back(one.r_offset);
  }
  return slots;
}

std::optional<std::string> read_text_symbol(const std::string& path, const std::string& name,
                                            SymbolScope scope) {
  constexpr uint64_t text_bytes_max = 64 << 10;
  const ElfReader file(path);
  for (const uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    if (type == SHT_SYMTAB && scope == SymbolScope::exported) break;
    const auto [has_table, symbol] =
        find_symbol(file, type, name, [](unsigned kind) { return kind == STT_OBJECT; });
    if (!symbol || symbol->st_size > text_bytes_max) continue;
    return file.part(offset_of_address(file.segments(), symbol->st_value), symbol->st_size)
        .text_at(0);
  }
  return {};
}

std::optional<std::vector<FunctionSymbol>> functions_of(const std::string& path) {
  const ElfReader file(path);
  if (!file.is_elf()) return {};
  std::vector<FunctionSymbol> functions;
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    if (!functions.empty()) break;
    for_each_symbol(file, type, [&](const GElf_Sym& symbol, const char* name) {
      if (is_function(GELF_ST_TYPE(symbol.st_info)) && *name != '\0') {
        functions.push_back({symbol.st_value, symbol.st_value + symbol.st_size, name});
      }
      return false;
    });
  }
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return functions;
}

bool is_preloadable_allocator(const std::string& path) {
  const std::optional<ElfFacts> facts = read_elf(path);
  return facts && facts->is_64_bit && facts->machine == own_machine &&
         defines_function(path, "malloc").value_or(true);
}

}  // namespace talus::tool
