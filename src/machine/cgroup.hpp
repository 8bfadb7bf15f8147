// SPDX-License-Identifier: MIT
// machine/cgroup: how much memory and how many processors the control groups of the process allow.
//
// It follows /proc/self/cgroup to the files with the limits. The least limit counts, over the group
// and each group above it up to the mount. Version 2 has memory.max and cpu.max. Version 1 has one
// tree for each controller. A hybrid system has both. A container may mount its own group as the
// root, so the path in /proc does not exist below the mount. Then /proc/self/mountinfo, which is
// longer and costs more, says what the mount shows.
//
// Owns: the way to these files. Invariants: what cannot be read or understood is no limit. It
// allocates nothing, keeps errno, leaves no file open, and uses less than 4 KiB of stack. It reads
// only files of the kernel, none that the environment names, so a privileged process may call it.
// Called on: the thread that starts the process. Must not know: what a limit does.
#ifndef TALUS_MACHINE_CGROUP_HPP
#define TALUS_MACHINE_CGROUP_HPP

#include "base/base.hpp"
#include "settings/machine.hpp"
#include "os/os.hpp"
#include "parsing/option_number.hpp"
#include "machine/kernel_file.hpp"

namespace talus::core {

// Paths of the kernel's trees; tests have trees of their own.
struct CgroupRoots {
  const char* own_groups = "/proc/self/cgroup";      // a file
  const char* mount_table = "/proc/self/mountinfo";  // a file
  const char* mounts = "/sys/fs/cgroup";             // where groups are usually mounted
};

namespace cgroup {

// One tree of groups.
struct Tree {
  const char* customary[2];  // where it is usually mounted, below CgroupRoots::mounts
  const char* mark;          // a file that each of its groups has
  const char* file_system;
  const char* controller;  // null: any
};
inline constexpr Tree unified_tree{{"", "/unified"}, "/cgroup.controllers", "cgroup2", nullptr};
inline constexpr Tree memory_tree{{"/memory", nullptr}, "/cgroup.procs", "cgroup", "memory"};
inline constexpr Tree cpu_tree{{"/cpu", "/cpu,cpuacct"}, "/cgroup.procs", "cgroup", "cpu"};

// --- the files of one group ----------------------------------------------------------------------

// Version 1 writes the largest number of pages where version 2 writes "max".
inline constexpr uint64_t unlimited_from = uint64_t{1} << 62;
// No process lives with less, and 0 would mean no limit.
inline constexpr uint64_t memory_least = 4096;

TALUS_START bool ends_number(char letter) noexcept {
  return letter == '\0' || letter == '\n' || letter == ' ';
}

// Bytes of memory that a limit's text allows; 0: no limit.
TALUS_START size_t memory_in(const char* text) noexcept {
  const Digits digits = read_digits(text);
  if (digits.end == text || !ends_number(*digits.end)) return 0;
  if (digits.overflow || digits.value >= unlimited_from) return 0;
  return digits.value < memory_least ? memory_least : digits.value;
}

// Processors' worth of time, rounded up, from microseconds in each period; 0: no quota.
TALUS_START size_t processors_of(uint64_t quota_us, uint64_t period_us) noexcept {
  if (quota_us == 0 || period_us == 0) return 0;
  return quota_us / period_us + (quota_us % period_us != 0 ? 1 : 0);
}

// Reads "QUOTA PERIOD"; "max PERIOD" and all else is no quota.
TALUS_START size_t processors_in(const char* text) noexcept {
  const Digits quota = read_digits(text);
  if (quota.end == text || quota.overflow || *quota.end != ' ') return 0;
  const Digits period = read_digits(quota.end + 1);
  if (period.end == quota.end + 1 || period.overflow || !ends_number(*period.end)) return 0;
  return processors_of(quota.value, period.value);
}

TALUS_START void keep_least(size_t& least, size_t found) noexcept {
  if (found != 0 && (least == 0 || found < least)) least = found;
}

// Reads a file of the group at `path`. The path is unchanged afterwards.
template <size_t Capacity>
TALUS_START bool read_in_group(PathBuffer& path, const char* file,
                               char (&text)[Capacity]) noexcept {
  const size_t length = path.length();
  const bool is_read = path.put(file).is_whole() && read_text(path.data(), text) != 0;
  path.cut_to(length);
  return is_read;
}

// The number in such a file; 0: no number, or a negative one, which means no quota.
TALUS_START uint64_t number_in_group(PathBuffer& path, const char* file) noexcept {
  char text[64];
  if (!read_in_group(path, file, text)) return 0;
  const Digits digits = read_digits(text);
  return digits.overflow ? 0 : digits.value;
}

struct Wanted {
  bool memory;
  bool processors;
};

TALUS_START void read_group(PathBuffer& path, const Tree& tree, Wanted wanted,
                            MachineLimits& least) noexcept {
  const bool is_unified = &tree == &unified_tree;
  char text[64];
  if (wanted.memory) {
    const char* file = is_unified ? "/memory.max" : "/memory.limit_in_bytes";
    if (read_in_group(path, file, text)) keep_least(least.memory_bytes, memory_in(text));
  }
  if (!wanted.processors) return;
  if (is_unified) {
    if (read_in_group(path, "/cpu.max", text)) keep_least(least.cpu_quota, processors_in(text));
  } else if (const uint64_t quota_us = number_in_group(path, "/cpu.cfs_quota_us")) {
    const uint64_t period_us = number_in_group(path, "/cpu.cfs_period_us");
    keep_least(least.cpu_quota, processors_of(quota_us, period_us));
  }
}

// --- where a group is ----------------------------------------------------------------------------

TALUS_START bool is_there(PathBuffer& path, const char* mark) noexcept {
  const size_t length = path.length();
  const long file =
      path.is_whole() && path.put(mark).is_whole() ? os::System::open_file(path.data()) : -1;
  if (file >= 0) os::System::close_file(file);
  path.cut_to(length);
  return file >= 0;
}

// True if a step of the path is "..": the group lies outside the process's view.
TALUS_START bool leads_up(TextPart path) noexcept {
  while (path.length != 0) {
    if (path.take_until('/').is("..")) return true;
  }
  return false;
}

// Reduces `group` to its part below `root`. False: it is not below.
TALUS_START bool below(TextPart root, TextPart& group) noexcept {
  if (root.is("/")) root.length = 0;
  if (root.length > group.length) return false;
  for (size_t i = 0; i < root.length; i++) {
    if (root.text[i] != group.text[i]) return false;
  }
  if (root.length < group.length && group.text[root.length] != '/') return false;
  group = TextPart{group.text + root.length, group.length - root.length};
  return true;
}

// Adds a path of mountinfo, which writes blanks, tabs, line ends and backslashes as octal numbers.
TALUS_START void put_mount_point(PathBuffer& path, TextPart point) noexcept {
  for (size_t i = 0; i < point.length; i++) {
    char letter = point.text[i];
    if (letter == '\\' && i + 3 < point.length) {
      unsigned value = 0;
      for (size_t digit = 1; digit <= 3; digit++) {
        value = value * 8 + (static_cast<unsigned>(point.text[i + digit] - '0') & 7);
      }
      letter = static_cast<char>(value);
      i += 3;
    }
    path.put(TextPart{&letter, 1});
  }
}

// The two finders leave the group's path in `path` and return the length of the mount's part. They
// return `nowhere` when they find no group.
inline constexpr size_t nowhere = ~size_t{0};

TALUS_START size_t find_by_custom(PathBuffer& path, const char* mounts, const Tree& tree,
                                  TextPart group) noexcept {
  for (const char* name : tree.customary) {
    if (name == nullptr) continue;
    const size_t length = path.cut_to(0).put(mounts).put(name).length();
    path.put(group);
    if (is_there(path, tree.mark)) return length;
  }
  return nowhere;
}

// A line: id, parent, device, root, mount point, options, ..., "-", file system, source, options.
TALUS_START size_t find_by_mount(PathBuffer& path, const char* mount_table, const Tree& tree,
                                 TextPart group) noexcept {
  FileLines lines{mount_table};
  for (TextPart line; lines.next(line);) {
    for (int skipped = 0; skipped < 3; skipped++) line.take_until(' ');
    const TextPart root = line.take_until(' ');
    const TextPart point = line.take_until(' ');
    while (line.length != 0 && !line.take_until(' ').is("-")) continue;
    if (!line.take_until(' ').is(tree.file_system)) continue;
    line.take_until(' ');
    if (tree.controller != nullptr && !line.has_word(tree.controller)) continue;
    TextPart rest = group;
    if (!below(root, rest)) continue;
    put_mount_point(path.cut_to(0), point);
    const size_t length = path.length();
    path.put(rest);
    if (is_there(path, tree.mark)) return length;
  }
  return nowhere;
}

TALUS_START void read_tree(const CgroupRoots& roots, const Tree& tree, TextPart group,
                           Wanted wanted, MachineLimits& least) noexcept {
  PathBuffer path;
  while (group.length != 0 && group.text[group.length - 1] == '/') group.length--;
  const bool is_visible = !leads_up(group);
  size_t mount = is_visible ? find_by_custom(path, roots.mounts, tree, group) : nowhere;
  if (mount == nowhere && is_visible) mount = find_by_mount(path, roots.mount_table, tree, group);
  // For a group out of view, the visible mount is a group above it.
  if (mount == nowhere) mount = find_by_custom(path, roots.mounts, tree, TextPart{});
  if (mount == nowhere) return;
  for (;;) {
    read_group(path, tree, wanted, least);
    size_t end = path.length();
    if (end <= mount) return;
    while (path.data()[--end] != '/' && end > mount) continue;
    path.cut_to(end);
  }
}

}  // namespace cgroup

// The limits of the process's control groups. Each line of the cgroup file is
// "ID:CONTROLLERS:GROUP". Version 2 has the id 0, no controllers, and the last line.
TALUS_START MachineLimits read_machine_limits(const CgroupRoots& roots = CgroupRoots{}) noexcept {
  MachineLimits least;
  cgroup::Wanted unseen{true, true};
  FileLines lines{roots.own_groups};
  for (TextPart group; lines.next(group);) {
    const bool is_zero = group.take_until(':').is("0");
    const TextPart controllers = group.take_until(':');
    if (group.length == 0 || group.text[0] != '/') continue;
    if (controllers.has_word("memory")) {
      cgroup::read_tree(roots, cgroup::memory_tree, group, {true, false}, least);
      unseen.memory = false;
    }
    if (controllers.has_word("cpu")) {
      cgroup::read_tree(roots, cgroup::cpu_tree, group, {false, true}, least);
      unseen.processors = false;
    }
    if (is_zero && controllers.length == 0 && (unseen.memory || unseen.processors)) {
      cgroup::read_tree(roots, cgroup::unified_tree, group, unseen, least);
    }
  }
  return least;
}

}  // namespace talus::core

#endif  // TALUS_MACHINE_CGROUP_HPP
