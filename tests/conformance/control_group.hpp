// A control group of one's own, for probes about memory and processor limits: version 1 or 2.
//
// Makes a group for the given controllers. That is one folder in each hierarchy of version 1, or
// one in the common hierarchy of version 2. It lies below the group of this process, or else at the
// root. Needs the right to do so; `is_made` says whether it worked. The destructor removes the
// folders, which works once the processes in them have ended. Nothing here allocates.
// SPDX-License-Identifier: MIT
#pragma once

#include "measure.hpp"
#include "probe.hpp"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace probe {

class ControlGroup {
 public:
  template <std::size_t count>
  explicit ControlGroup(const char* const (&controllers)[count]) {
    static_assert(count <= controllers_max, "one folder a controller");
    for (const char* controller : controllers) {
      if (!make_version_1(controller)) break;
    }
    is_made_ = folder_count_ == count;
    if (is_made_) return;
    remove_folders();
    is_version_2_ = true;
    is_made_ = make_version_2(controllers, count);
  }

  ~ControlGroup() { remove_folders(); }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  bool is_made() const { return is_made_; }

  // Writes a setting of one controller, named as version 1 and as version 2 call it. A null name
  // says that this version has no such setting.
  bool set(const char* controller, const char* name_1, const char* name_2, const char* value) {
    const char* name = is_version_2_ ? name_2 : name_1;
    const Folder* folder = find(controller);
    if (name == nullptr || folder == nullptr) return false;
    return write_file(folder->path, name, value);
  }

  bool set_memory_limit(std::size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof(text), "%zu", bytes);
    if (!set("memory", "memory.limit_in_bytes", "memory.max", text)) return false;
    // Swapping out is no way to keep free memory; where swap cannot be limited there is none.
    if (!set("memory", "memory.memsw.limit_in_bytes", nullptr, text)) {
      set("memory", "memory.swappiness", "memory.swap.max", "0");
    }
    return true;
  }

  // Puts the calling process into the group.
  bool join() const {
    for (std::size_t i = 0; i < folder_count_; ++i) {
      if (!write_file(folders_[i].path, "cgroup.procs", "0")) return false;
    }
    return is_made_;
  }

  // Processes that the kernel ended because the memory limit was reached.
  std::size_t killed() const {
    const Folder* folder = find("memory");
    if (folder == nullptr) return 0;
    char path[path_max];
    std::snprintf(path, sizeof(path), "%s/%s", folder->path,
                  is_version_2_ ? "memory.events" : "memory.oom_control");
    std::size_t count = 0;
    for_each_line(path, [&](const char* line) {
      if (std::strncmp(line, "oom_kill ", 9) == 0) count = std::strtoull(line + 9, nullptr, 10);
    });
    return count;
  }

 private:
  static constexpr std::size_t controllers_max = 4;
  static constexpr std::size_t path_max = 640;

  struct Folder {
    char controller[16];
    char path[600];
  };

  static bool write_file(const char* folder, const char* name, const char* value) {
    char path[path_max];
    std::snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    const auto length = static_cast<ssize_t>(std::strlen(value));
    const bool is_written = write(file, value, static_cast<std::size_t>(length)) == length;
    close(file);
    return is_written;
  }

  const Folder* find(const char* controller) const {
    if (is_version_2_) return folder_count_ > 0 ? &folders_[0] : nullptr;
    for (std::size_t i = 0; i < folder_count_; ++i) {
      if (std::strcmp(folders_[i].controller, controller) == 0) return &folders_[i];
    }
    return nullptr;
  }

  // Whether `word` is one of the words of `list`, which are copied by commas or spaces.
  static bool has_word(const char* list, const char* word) {
    const std::size_t length = std::strlen(word);
    for (const char* at = list; (at = std::strstr(at, word)) != nullptr; at += length) {
      const bool starts = at == list || std::strchr(", :", at[-1]) != nullptr;
      const bool ends = at[length] == 0 || std::strchr(", :\n", at[length]) != nullptr;
      if (starts && ends) return true;
    }
    return false;
  }

  // Where a hierarchy is mounted: of version 1 with a controller, or of version 2 with null.
  static bool find_mount(const char* controller, char (&path)[400]) {
    bool is_found = false;
    for_each_line("/proc/self/mounts", [&](const char* line) {
      char mounted[400];
      char type[16];
      char options[300];
      if (is_found) return;
      if (std::sscanf(line, "%*s %399s %15s %299s", mounted, type, options) != 3) return;
      is_found = controller == nullptr
                     ? std::strcmp(type, "cgroup2") == 0
                     : std::strcmp(type, "cgroup") == 0 && has_word(options, controller);
      if (is_found) std::memcpy(path, mounted, sizeof(mounted));
    });
    return is_found;
  }

  // The group this process is in, as a path from the mount, without a slash at its end.
  static void find_own(const char* controller, char (&path)[150]) {
    path[0] = 0;
    for_each_line("/proc/self/cgroup", [&](const char* line) {
      const char* list = std::strchr(line, ':');
      const char* own = list != nullptr ? std::strchr(list + 1, ':') : nullptr;
      if (own == nullptr) return;
      char names[100];
      std::snprintf(names, sizeof(names), "%.*s", static_cast<int>(own - list - 1), list + 1);
      const bool is_it = controller == nullptr ? names[0] == 0 : has_word(names, controller);
      if (is_it && std::strcmp(own + 1, "/") != 0) std::snprintf(path, sizeof(path), "%s", own + 1);
    });
  }

  bool make_folder(const char* controller, const char* mount, const char* below) {
    Folder& folder = folders_[folder_count_];
    std::snprintf(folder.controller, sizeof(folder.controller), "%s", controller);
    std::snprintf(folder.path, sizeof(folder.path), "%s%s/conformance-%d", mount, below,
                  static_cast<int>(getpid()));
    if (mkdir(folder.path, 0755) != 0) return false;
    ++folder_count_;
    return true;
  }

  bool make_version_1(const char* controller) {
    char mount[400];
    char own[150];
    if (!find_mount(controller, mount)) return false;
    find_own(controller, own);
    return make_folder(controller, mount, own) || make_folder(controller, mount, "");
  }

  bool make_version_2(const char* const* controllers, std::size_t count) {
    char mount[400];
    char own[150];
    if (!find_mount(nullptr, mount)) return false;
    find_own(nullptr, own);
    for (const char* below : {static_cast<const char*>(own), ""}) {
      char parent[600];
      std::snprintf(parent, sizeof(parent), "%s%s", mount, below);
      bool has_all = true;
      for (std::size_t i = 0; i < count; ++i) {
        char word[24];
        std::snprintf(word, sizeof(word), "+%s", controllers[i]);
        write_file(parent, "cgroup.subtree_control", word);
        has_all &= is_enabled(parent, controllers[i]);
      }
      if (has_all && make_folder("", mount, below)) return true;
    }
    return false;
  }

  static bool is_enabled(const char* parent, const char* controller) {
    char path[path_max];
    std::snprintf(path, sizeof(path), "%s/cgroup.subtree_control", parent);
    bool is_found = false;
    for_each_line(path, [&](const char* line) { is_found |= has_word(line, controller); });
    return is_found;
  }

  void remove_folders() {
    while (folder_count_ > 0) {
      const char* path = folders_[--folder_count_].path;
      within(1.0, [&] { return rmdir(path) == 0; });  // a process that ended leaves a little later
    }
  }

  Folder folders_[controllers_max] = {};
  std::size_t folder_count_ = 0;
  bool is_version_2_ = false;
  bool is_made_ = false;
};

}  // namespace probe
