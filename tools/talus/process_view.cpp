// SPDX-License-Identifier: MIT
//
// Owns: the reading of /proc/PID, see process_view.hpp. A mapped file is opened through map_files
// where the kernel allows it. This reaches the mapped file even after an upgrade replaced it.
// Otherwise the file is opened through the root of the process, for containers. The loader stores
// an address within each object, and these addresses give the search order.
// Invariant: each object is reported once, whatever the number of its mapped ranges.
// Must not know: options.

#include "process_view.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "file_text.hpp"
#include "proc_text.hpp"
#include "search_order.hpp"

namespace talus::tool {
namespace {

// The kernel writes a newline in a file name as \012. All other bytes are unchanged.
std::string without_escapes(const std::string& text) {
  static constexpr std::string_view escape = "\\012";
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool is_escape = text.compare(at, escape.size(), escape) == 0;
    result += is_escape ? '\n' : text[at];
    at += is_escape ? escape.size() : 1;
  }
  return result;
}

struct MapLine {
  std::string range;  // start-end, the file name in map_files
  std::string inode;
  std::string path;
};

MapLine read_map_line(const std::string& line) {
  std::istringstream words(line);
  MapLine result;
  std::string permissions, offset, device;
  words >> result.range >> permissions >> offset >> device >> result.inode >> std::ws;
  std::getline(words, result.path);
  result.path = without_escapes(result.path);
  result.inode = device + "/" + result.inode;
  return result;
}

constexpr std::string_view deleted_mark = " (deleted)";

bool has_deleted_mark(std::string_view path) {
  return path.size() > deleted_mark.size() &&
         path.substr(path.size() - deleted_mark.size()) == deleted_mark;
}

std::string without_deleted_mark(const std::string& path) {
  return path.substr(0, path.size() - (has_deleted_mark(path) ? deleted_mark.size() : 0));
}

// The program has a name that leads to the mapped file without root rights.
MappedObject read_object(const std::string& process, const MapLine& line, bool is_program) {
  MappedObject object{
      without_deleted_mark(line.path), has_deleted_mark(line.path), {}, {}, line.inode};
  for (const std::string& file :
       {is_program ? process + "/exe" : process + "/map_files/" + line.range,
        process + "/root" + line.path, line.path}) {
    object.facts = read_elf(file);
    object.file = file;
    // The deleted file's name may lead to another file, which is not read.
    if (object.facts || object.is_deleted) break;
  }
  return object;
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\0', at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return parts;
}

bool is_variable(const std::string& text) {
  const size_t end = text.find('=');
  return end != std::string::npos && end != 0;
}

// A value that the kernel passed to the process at its start; 0: no such value.
uint64_t auxiliary_value(const std::string& auxiliary, uint64_t type) {
  Elf64_auxv_t entry;
  for (size_t at = 0; at + sizeof entry <= auxiliary.size(); at += sizeof entry) {
    std::memcpy(&entry, auxiliary.data() + at, sizeof entry);
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return 0;
}

// A text in the memory of the process. Empty if it cannot be read or has no end nearby.
std::string text_in_memory(const std::string& process, uint64_t address) {
  if (address == 0) return {};
  std::ifstream memory(process + "/mem", std::ios::binary);
  if (!memory.seekg(static_cast<std::streamoff>(address))) return {};
  std::string text;
  for (int letter = memory.get(); letter > 0 && text.size() < 4096; letter = memory.get())
    text += static_cast<char>(letter);
  return text;
}

// Adds the line's range to its object. The object gets its turn if the loader stored an address
// inside.
void note_range(const std::vector<uint64_t>& order, const MapLine& line,
                std::vector<MappedObject>& objects) {
  AddressRange range{0, 0};
  char dash = 0;
  std::istringstream(line.range) >> std::hex >> range.begin >> dash >> range.end;
  const auto object = std::find_if(objects.begin(), objects.end(),
                                   [&](auto& other) { return other.inode == line.inode; });
  if (object == objects.end()) return;
  object->ranges.push_back(range);
  const auto place = std::find_if(order.begin(), order.end(), [&](uint64_t address) {
    return range.begin <= address && address < range.end;
  });
  if (place != order.end()) object->turn = static_cast<size_t>(place - order.begin());
}

unsigned effective_user(const std::string& process) {
  std::istringstream numbers(text_in(named_lines(process + "/status"), "Uid"));
  unsigned real = 0, effective = 0;
  numbers >> real >> effective;
  return effective;
}

}  // namespace

ProcessView view_process(const std::string& pid) {
  ProcessView view;
  const std::string process = "/proc/" + pid;
  errno = 0;
  const std::optional<std::string> maps = text_of_file(process + "/maps");
  if (!maps || maps->empty()) {
    const int error = errno;
    std::error_code lost;
    const bool is_there = std::filesystem::exists(process, lost);
    const char* const reason = !is_there    ? "no such process"
                               : error != 0 ? std::strerror(error)
                                            : "has no memory of its own";
    view.error = fmt::format("process {}: {}", pid, reason);
    return view;
  }
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(process + "/exe", error).string();
  const std::string auxiliary = text_of_file(process + "/auxv").value_or("");
  const std::vector<uint64_t> order = search_order(process, auxiliary_value(auxiliary, AT_PHDR),
                                                   auxiliary_value(auxiliary, AT_PHNUM));
  std::set<std::string> seen;
  std::istringstream lines(*maps);
  for (std::string text; std::getline(lines, text);) {
    const MapLine line = read_map_line(text);
    if (line.path.empty() || line.path[0] != '/') continue;
    if (seen.insert(line.inode).second) {
      const bool is_program = line.path == program;
      view.objects.insert(is_program ? view.objects.begin() : view.objects.end(),
                          read_object(process, line, is_program));
    }
    note_range(order, line, view.objects);
  }
  if (const auto environment = text_of_file(process + "/environ")) {
    view.environment = split_at_zeros(*environment);
    view.is_environment_intact =
        std::all_of(view.environment.begin(), view.environment.end(), is_variable);
  }
  view.is_secure = auxiliary_value(auxiliary, AT_SECURE) != 0;
  view.called_as = text_in_memory(process, auxiliary_value(auxiliary, AT_EXECFN));
  view.file = without_deleted_mark(program);
  view.user_id = effective_user(process);
  return view;
}

}  // namespace talus::tool
