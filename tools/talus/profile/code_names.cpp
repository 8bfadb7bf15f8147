// SPDX-License-Identifier: MIT
//
// Owns: see code_names.hpp.
// Invariant: see code_names.hpp.
// Must not know: see code_names.hpp.

#include "profile/code_names.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "observe/mapped_image.hpp"
#include "profile/demangle.hpp"

namespace talus::tool {
namespace {

constexpr size_t notes_bytes_max = 4096;

std::string build_id_in(const Memory& memory, uint64_t address, uint64_t bytes) {
  const std::vector<char> notes = bytes_at(memory, address, bytes);
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data() + at, sizeof head);
    const size_t name = at + sizeof head;
    const size_t body = name + (size_t{head.n_namesz} + 3) / 4 * 4;
    const size_t next = body + (size_t{head.n_descsz} + 3) / 4 * 4;
    if (next > bytes || next <= at) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string text;
      for (size_t i = body; i < body + head.n_descsz; i++) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[i]));
      }
      return text;
    }
    at = next;
  }
  return "";
}

// A name, or nothing if no symbol has the address.
const FunctionSymbol* symbol_at(const std::vector<FunctionSymbol>& symbols, uint64_t address) {
  auto found =
      std::upper_bound(symbols.begin(), symbols.end(), address,
                       [](uint64_t at, const FunctionSymbol& symbol) { return at < symbol.begin; });
  if (found == symbols.begin()) return nullptr;
  --found;
  // A symbol without a size, as assembly may have, reaches to the next one.
  const bool is_in = address < found->end || found->end == found->begin;
  return is_in ? &*found : nullptr;
}

}  // namespace

CodeNames::CodeNames(const Memory& memory, std::vector<Mapping> mappings, CodeFiles files)
    : memory_(memory),
      mappings_(std::move(mappings)),
      files_(std::move(files)),
      server_(files_.debug.server_limit_s) {}

// The ELF head lies in the file's first mapping below.
void CodeNames::read_image(CodeArea& area) const {
  const Mapping* first = nullptr;
  for (const Mapping& mapping : mappings_) {
    if (mapping.path != area.mapping.path || mapping.begin > area.mapping.begin) continue;
    if (mapping.offset == 0 && mapping.is_readable) first = &mapping;
  }
  if (first == nullptr) return;
  const MappedImage image = image_at(memory_, first->begin);
  if (!image.moved_by) return;
  area.bias = *image.moved_by;
  for (const Elf64_Phdr& segment : image.segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > notes_bytes_max) continue;
    const std::string id = build_id_in(memory_, area.bias + segment.p_vaddr, segment.p_filesz);
    if (!id.empty()) area.build_id = id;
  }
}

const CodeArea* CodeNames::area_of(uint64_t address) {
  for (const Mapping& mapping : mappings_) {
    if (address < mapping.begin || address >= mapping.end) continue;
    if (mapping.path.empty()) return nullptr;
    const auto [place, is_new] = areas_.try_emplace(mapping.begin);
    CodeArea& area = place->second;
    if (!is_new) return &area;
    area.mapping = mapping;
    area.bias = mapping.begin - mapping.offset;
    try {
      read_image(area);
    } catch (const Implausible&) {
      area.build_id.clear();  // the head is gone, so nothing more is known
    } catch (const Lost&) {
      area.build_id.clear();
    }
    return &area;
  }
  return nullptr;
}

void CodeNames::File::add(const std::string& path, const std::string& build_id) {
  std::optional<std::vector<FunctionSymbol>> found = functions_of(path);
  // A debug file has all symbols, a stripped one only those that others use.
  if (found && found->size() > symbols.size()) symbols = std::move(*found);
  has_lines = has_lines || lines.open(path, build_id);
}

CodeNames::File& CodeNames::file_of(const CodeArea& area) {
  const auto [place, is_new] = opened_.try_emplace(area.mapping.path);
  File& file = place->second;
  if (!is_new) return file;
  std::vector<std::string> paths = {files_.root + area.mapping.path, area.mapping.path};
  if (area.build_id.size() > 2) {
    const std::string name = fmt::format("{}/.build-id/{}/{}.debug", files_.debug.folder,
                                         area.build_id.substr(0, 2), area.build_id.substr(2));
    paths.push_back(files_.root + name);
    paths.push_back(name);
  }
  for (const std::string& path : paths) file.add(path, area.build_id);
  if (file.has_lines) return file;
  const std::string path = server_.file_for(area.mapping.path, area.build_id);
  if (!path.empty()) file.add(path, area.build_id);
  return file;
}

const std::vector<CodeLine>& CodeNames::lines_at(uint64_t address) {
  const auto [place, is_new] = known_.try_emplace(address);
  std::vector<CodeLine>& lines = place->second;
  if (!is_new) return lines;
  const CodeArea* const area = area_of(address);
  if (area != nullptr && area->mapping.path[0] == '/') {
    File& file = file_of(*area);
    lines = file.lines.at(address - area->bias);
    if (lines.empty()) lines.emplace_back();
    CodeLine& outermost = lines.back();
    const FunctionSymbol* const symbol = symbol_at(file.symbols, address - area->bias);
    if (symbol != nullptr && outermost.function.empty()) {
      outermost.symbol = symbol->name;
      outermost.function = demangled(symbol->name);
    }
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

}  // namespace talus::tool
