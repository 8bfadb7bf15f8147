// SPDX-License-Identifier: MIT
//
// Owns: see proc_text.hpp.
// Invariant: see proc_text.hpp.
// Must not know: what a line means.

#include "proc_text.hpp"

#include <pwd.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "file_text.hpp"
#include "process_word.hpp"

namespace talus::tool {

std::vector<int> process_ids() {
  std::vector<int> ids;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator("/proc", error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    if (const int pid = process_of_word(at->path().filename()); pid != 0) ids.push_back(pid);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// A static command has no modules of the C library beside it: it reads the file of users itself.
std::string user_name(unsigned id) {
  if (::getauxval(AT_BASE) != 0) {
    const passwd* const known = ::getpwuid(id);  // NOLINT: the command has one thread
    return known != nullptr ? known->pw_name : std::to_string(id);
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), std::fclose);
  while (file != nullptr) {
    const passwd* const known = ::fgetpwent(file.get());  // NOLINT: the command has one thread
    if (known == nullptr) break;
    if (known->pw_uid == id) return known->pw_name;
  }
  return std::to_string(id);
}

std::string process_name(const std::string& pid) {
  std::string name = text_of_file("/proc/" + pid + "/comm").value_or("");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

NamedLines named_lines(const std::string& path) {
  NamedLines values;
  std::istringstream lines(text_of_file(path).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t text = line.find_first_not_of(" \t", colon + 1);
    values[line.substr(0, colon)] = text == std::string::npos ? "" : line.substr(text);
  }
  return values;
}

std::string text_in(const NamedLines& lines, const std::string& name) {
  const auto found = lines.find(name);
  return found == lines.end() ? "" : found->second;
}

std::optional<uint64_t> number_in(const NamedLines& lines, const std::string& name,
                                  uint64_t factor) {
  uint64_t number = 0;
  if (!(std::istringstream(text_in(lines, name)) >> number)) return {};
  return number * factor;
}

std::optional<uint64_t> own_id_in(const NamedLines& status) {
  std::optional<uint64_t> own;
  std::istringstream numbers(text_in(status, "NSpid"));
  for (uint64_t id = 0; numbers >> id;) own = id;
  return own;
}

}  // namespace talus::tool
