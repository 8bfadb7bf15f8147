// SPDX-License-Identifier: MIT
//
// Owns: see debug_lines.hpp.
// Invariant: see debug_lines.hpp. A unit is walked once, when an address of it is first asked for.
// Must not know: see debug_lines.hpp.

#include "profile/debug_lines.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "profile/demangle.hpp"

#if defined(TALUS_HAS_LIBDW)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace talus::tool {

#if defined(TALUS_HAS_LIBDW)
// Members of a class with linkage, so these have it as well.
namespace debug_lines {

struct Range {
  uint64_t begin, end;
  size_t index;  // of what it belongs to
};

struct Unit {
  Dwarf_Die lines;  // which has the line table
  Dwarf_Die tree;   // which has the functions; another one if they are in a file of their own
  bool is_walked = false;
  std::vector<Dwarf_Die> functions;
  std::vector<Range> ranges;  // of functions
};

}  // namespace debug_lines

namespace {

using debug_lines::Range;
using debug_lines::Unit;

// Of ranges by their begin, the one of an address.
const Range* range_of(const std::vector<Range>& ranges, uint64_t address) {
  auto found = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t at, const Range& range) { return at < range.begin; });
  while (found != ranges.begin()) {
    --found;
    if (address < found->end) return &*found;
    if (address - found->begin > uint64_t{1} << 30) break;
  }
  return nullptr;
}

// Code that the linker dropped has the address 0.
void add_ranges(Dwarf_Die* die, size_t index, std::vector<Range>& ranges) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
    if (begin != 0 && begin < end) ranges.push_back({begin, end, index});
  }
}

void sort_ranges(std::vector<Range>& ranges) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

std::optional<uint64_t> attribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, name, &found) == nullptr) return {};
  if (dwarf_formudata(&found, &value) != 0) return {};
  return value;
}

std::string symbol_of(Dwarf_Die* die) {
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute found;
    if (dwarf_attr_integrate(die, name, &found) == nullptr) continue;
    const char* const text = dwarf_formstring(&found);
    if (text != nullptr) return text;
  }
  const char* const text = dwarf_diename(die);
  return text == nullptr ? "" : text;
}

// In hexadecimal; empty: the file has none.
std::string build_id_of(Elf* elf) {
  GElf_Shdr section;
  for (Elf_Scn* at = elf_nextscn(elf, nullptr); at != nullptr; at = elf_nextscn(elf, at)) {
    if (gelf_getshdr(at, &section) == nullptr || section.sh_type != SHT_NOTE) continue;
    Elf_Data* const data = elf_getdata(at, nullptr);
    GElf_Nhdr note;
    size_t name = 0, body = 0;
    for (size_t next = 0; data != nullptr && data->d_buf != nullptr &&
                          (next = gelf_getnote(data, next, &note, &name, &body)) != 0;) {
      const auto* const bytes = static_cast<const unsigned char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof "GNU") continue;
      std::string id;
      for (size_t i = body; i < body + note.n_descsz; i++) id += fmt::format("{:02x}", bytes[i]);
      return id;
    }
  }
  return "";
}

}  // namespace

class DebugLines::Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    dwarf_end(debug_);
    elf_end(elf_);
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  bool open(const std::string& path, const std::string& build_id) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      return false;
    }
    if (elf_version(EV_CURRENT) == EV_NONE) return false;
    elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    if (elf_ == nullptr || !is_build(build_id)) return false;
    debug_ = dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
    return debug_ != nullptr && read_units();
  }

  std::vector<CodeLine> at(uint64_t address) {
    const Range* const range = range_of(ranges_, address);
    if (range == nullptr) return {};
    Unit& unit = units_[range->index];
    walk(unit);
    std::vector<CodeLine> lines;
    CodeLine here;
    if (Dwarf_Line* const line = dwarf_getsrc_die(&unit.lines, address)) {
      const char* const file = dwarf_linesrc(line, nullptr, nullptr);
      int number = 0;
      if (file != nullptr) here.file = file;
      if (dwarf_lineno(line, &number) == 0 && number > 0) here.line = static_cast<uint32_t>(number);
    }
    std::vector<Dwarf_Die> nest = nest_at(unit, address);
    for (; !nest.empty(); nest.pop_back()) {
      Dwarf_Die* const die = &nest.back();
      here.symbol = symbol_of(die);
      here.function = demangled(here.symbol);
      here.first_line = static_cast<uint32_t>(attribute(die, DW_AT_decl_line).value_or(0));
      lines.push_back(std::exchange(here, {}));
      if (nest.size() == 1) return lines;
      here.line = static_cast<uint32_t>(attribute(die, DW_AT_call_line).value_or(0));
      here.file = file_of_call(unit, die);
    }
    if (!here.file.empty()) lines.push_back(here);  // as in assembly
    return lines;
  }

 private:
  bool is_build(const std::string& wanted) const {
    const std::string found = wanted.empty() ? "" : build_id_of(elf_);
    return found.empty() || found == wanted;
  }
  bool read_units() {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die lines, tree;
    uint8_t kind = 0;
    while (dwarf_get_units(debug_, unit, &unit, nullptr, &kind, &lines, &tree) == 0) {
      const bool is_split = kind == DW_UT_skeleton && tree.addr != nullptr;
      units_.push_back({lines, is_split ? tree : lines, false, {}, {}});
      add_ranges(&units_.back().lines, units_.size() - 1, ranges_);
    }
    sort_ranges(ranges_);
    return !ranges_.empty();
  }
  static void walk(Unit& unit) {
    if (std::exchange(unit.is_walked, true)) return;
    add_functions(&unit.tree, unit, 0);
    sort_ranges(unit.ranges);
  }
  // Functions may lie in namespaces, in types, and in other functions.
  static void add_functions(Dwarf_Die* parent, Unit& unit, unsigned depth) {
    constexpr unsigned depth_max = 64;
    Dwarf_Die die;
    if (depth > depth_max || dwarf_child(parent, &die) != 0) return;
    do {
      if (dwarf_tag(&die) == DW_TAG_subprogram) {
        unit.functions.push_back(die);
        add_ranges(&die, unit.functions.size() - 1, unit.ranges);
      }
      add_functions(&die, unit, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
  }
  // The function, then what is inlined into it, outermost first.
  static std::vector<Dwarf_Die> nest_at(const Unit& unit, uint64_t address) {
    std::vector<Dwarf_Die> nest;
    const Range* const range = range_of(unit.ranges, address);
    if (range == nullptr) return nest;
    nest.push_back(unit.functions[range->index]);
    Dwarf_Die die, parent = nest.front();
    bool is_inside = dwarf_child(&parent, &die) == 0;
    while (is_inside) {
      const int tag = dwarf_tag(&die);
      const bool is_block = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                            tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
      if (is_block && dwarf_haspc(&die, address) > 0) {
        if (tag == DW_TAG_inlined_subroutine) nest.push_back(die);
        parent = die;
        is_inside = dwarf_child(&parent, &die) == 0;
      } else {
        is_inside = dwarf_siblingof(&die, &die) == 0;
      }
    }
    return nest;
  }
  static std::string file_of_call(Unit& unit, Dwarf_Die* call) {
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const std::optional<uint64_t> index = attribute(call, DW_AT_call_file);
    if (!index || dwarf_getsrcfiles(&unit.lines, &files, &count) != 0) return "";
    if (*index >= count) return "";
    const char* const file = dwarf_filesrc(files, static_cast<size_t>(*index), nullptr, nullptr);
    return file == nullptr ? "" : file;
  }

  int descriptor_ = -1;
  Elf* elf_ = nullptr;
  Dwarf* debug_ = nullptr;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;  // of units
};

bool DebugLines::open(const std::string& path, const std::string& build_id) {
  auto reader = std::make_unique<Reader>();
  const bool is_good = reader->open(path, build_id);
  if (is_good) reader_ = std::move(reader);
  return is_good;
}
std::vector<CodeLine> DebugLines::at(uint64_t address) {
  return reader_ == nullptr ? std::vector<CodeLine>{} : reader_->at(address);
}
#else
class DebugLines::Reader {};
bool DebugLines::open(const std::string&, const std::string&) { return false; }
std::vector<CodeLine> DebugLines::at(uint64_t) { return {}; }
#endif

DebugLines::DebugLines() = default;
DebugLines::DebugLines(DebugLines&&) noexcept = default;
DebugLines& DebugLines::operator=(DebugLines&&) noexcept = default;
DebugLines::~DebugLines() = default;

}  // namespace talus::tool
