// SPDX-License-Identifier: MIT
//
// Owns: see mapped_areas.hpp.
// Invariant: see mapped_areas.hpp.
// Must not know: Talus.

#include "observe/mapped_areas.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>

#include "file_text.hpp"
#include "observe/memory.hpp"
#include "proc_text.hpp"

namespace talus::tool {
namespace {

// The stack pointers of all threads that wait in a call of the kernel. Others have none to read.
std::set<uint64_t> stack_pointers(int pid) {
  std::set<uint64_t> pointers;
  std::error_code error;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (auto at = std::filesystem::directory_iterator(tasks, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::istringstream words(text_of_file(at->path().string() + "/syscall").value_or(""));
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (all.size() < 3) continue;  // it runs
    pointers.insert(std::strtoull(all[all.size() - 2].c_str(), nullptr, 16));
  }
  return pointers;
}

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

AreaUse use_of(const MappedArea& area, const std::set<std::string>& programs,
               const std::set<uint64_t>& pointers) {
  const std::string& path = area.path;
  if (path == "[stack]") return AreaUse::stack;
  if (path == "[heap]") return AreaUse::brk;
  if (path == "[vdso]" || path == "[vvar]" || path == "[vvar_vclock]" || path == "[vsyscall]") {
    return AreaUse::kernel;
  }
  const bool is_shared = area.permissions.size() > 3 && area.permissions[3] == 's';
  const bool is_memory = starts_with(path, "/dev/shm/") || starts_with(path, "/memfd:") ||
                         starts_with(path, "/SYSV") || starts_with(path, "/dev/zero") ||
                         starts_with(path, "[anon_shmem:");
  if (is_memory) return AreaUse::shared;
  if (!path.empty() && path[0] == '/') {
    return programs.count(path) != 0 ? AreaUse::code : AreaUse::file;
  }
  if (is_shared) return AreaUse::shared;
  const auto pointer = pointers.lower_bound(area.begin);
  const bool is_stack = pointer != pointers.end() && *pointer < area.end;
  return is_stack ? AreaUse::stack : AreaUse::anonymous;
}

// "7f00-7f10 rw-p 00000000 00:00 0   [heap]"
bool read_head(const std::string& line, MappedArea& area) {
  unsigned long long begin = 0, end = 0;
  char permissions[8] = {};
  int path = 0;
  if (std::sscanf(line.c_str(), "%llx-%llx %7s %*x %*s %*s %n", &begin, &end, permissions, &path) <
      3) {
    return false;
  }
  area.begin = begin;
  area.end = end;
  area.permissions = permissions;
  if (path > 0) area.path = line.substr(static_cast<size_t>(path));
  return true;
}

}  // namespace

std::vector<MappedArea> read_areas(int pid) {
  std::vector<MappedArea> areas;
  std::set<std::string> programs;
  std::istringstream lines(text_of_file(memory_folder(pid) + "/smaps").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    unsigned long long kib = 0;
    char name[32] = {};
    if (std::sscanf(line.c_str(), "%31[A-Za-z_]: %llu kB", name, &kib) == 2) {
      if (areas.empty()) continue;
      const std::string word = name;
      if (word == "Rss") areas.back().resident_bytes = kib * 1024;
      if (word == "AnonHugePages") areas.back().huge_bytes = kib * 1024;
      if (word == "Swap") areas.back().swapped_bytes = kib * 1024;
      continue;
    }
    MappedArea area;
    if (!read_head(line, area)) continue;
    if (area.permissions.size() > 2 && area.permissions[2] == 'x') programs.insert(area.path);
    areas.push_back(area);
  }
  const std::set<uint64_t> pointers = stack_pointers(pid);
  const MappedArea* last = nullptr;
  for (MappedArea& area : areas) {
    area.use = use_of(area, programs, pointers);
    // The zeroed data of a program lie behind its file.
    const bool is_behind_code = last != nullptr && last->use == AreaUse::code &&
                                last->end == area.begin && !last->path.empty() &&
                                last->permissions.substr(0, 2) == "rw";
    if (is_behind_code && area.use == AreaUse::anonymous && area.path.empty()) {
      area.use = AreaUse::code;
    }
    last = &area;
  }
  return areas;
}

uint64_t page_table_bytes(int pid) {
  const NamedLines status = named_lines(memory_folder(pid) + "/status");
  return number_in(status, "VmPTE", 1024).value_or(0);
}

}  // namespace talus::tool
