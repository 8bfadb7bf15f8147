// SPDX-License-Identifier: MIT
//
// Owns: the reading of parents from /proc, see process_tree.hpp. Where the kernel lists the
// children of each thread, that list is read. On other kernels every process is inspected.
// Invariant: see process_tree.hpp.
// Must not know: the use of the tree.

#include "process_tree.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "../file_text.hpp"

namespace talus::tool {
namespace {

namespace files = std::filesystem;

// The fourth word of /proc/PID/stat. The second word is the name in brackets, with any characters.
pid_t parent_of(const files::path& process) {
  const std::string text = text_of_file(process / "stat").value_or("");
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return -1;
  std::istringstream words(text.substr(end + 1));
  std::string state;
  pid_t parent = -1;
  words >> state >> parent;
  return words ? parent : -1;
}

std::vector<pid_t> children_by_search(pid_t process) {
  std::vector<pid_t> children;
  std::error_code error;
  for (auto entry = files::directory_iterator("/proc", error);
       !error && entry != files::directory_iterator(); entry.increment(error)) {
    const pid_t candidate = std::atoi(entry->path().filename().c_str());
    if (candidate > 0 && parent_of(entry->path()) == process) children.push_back(candidate);
  }
  return children;
}

bool has_lists() {
  static const bool has = ::access("/proc/thread-self/children", R_OK) == 0;
  return has;
}

}  // namespace

std::vector<pid_t> children_of(pid_t process) {
  if (!has_lists()) return children_by_search(process);
  std::vector<pid_t> children;
  std::error_code error;
  const files::path threads = files::path("/proc") / std::to_string(process) / "task";
  for (auto entry = files::directory_iterator(threads, error);
       !error && entry != files::directory_iterator(); entry.increment(error)) {
    std::ifstream file(entry->path() / "children");
    for (pid_t child; file >> child;) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> tree_of(pid_t process) {
  std::vector<pid_t> tree{process};
  for (size_t i = 0; i < tree.size(); i++) {
    for (const pid_t child : children_of(tree[i])) tree.push_back(child);
  }
  return tree;
}

}  // namespace talus::tool
