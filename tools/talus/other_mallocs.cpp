// SPDX-License-Identifier: MIT
//
// Owns: the reading of the slots in which the loader stores the address of malloc, see
// other_mallocs.hpp.
// Invariant: see other_mallocs.hpp.
// Must not know: the other findings about the process.

#include "other_mallocs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace talus::tool {
namespace {

// The memory of a process, read one word at a time.
class Words {
 public:
  explicit Words(const std::string& pid)
      : descriptor_(::open(("/proc/" + pid + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  uint64_t at(uint64_t address) const {
    uint64_t value = 0;
    const ssize_t got = ::pread(descriptor_, &value, sizeof value, static_cast<off_t>(address));
    return got == static_cast<ssize_t>(sizeof value) ? value : 0;
  }

 private:
  int descriptor_;  // constant; -1: could not be opened
};

bool is_within(const MappedObject& object, uint64_t address) {
  return std::any_of(object.ranges.begin(), object.ranges.end(), [&](const AddressRange& range) {
    return range.begin <= address && address < range.end;
  });
}

// The object that one of the slots leads to, unless it is Talus. An unbound call leads to its own
// object and is skipped too. Null: there is none.
const MappedObject* server_of(const Words& words, const ProcessView& view,
                              const MappedObject& object, const MappedObject& talus) {
  if (!object.facts || object.ranges.empty()) return nullptr;
  const FunctionSlots slots = slots_of_function(object.file, "malloc");
  const uint64_t moved_by = object.ranges.front().begin - slots.first_address;
  for (const uint64_t slot : slots.addresses) {
    const uint64_t target = words.at(moved_by + slot);
    if (target == 0 || is_within(talus, target) || is_within(object, target)) continue;
    for (const MappedObject& other : view.objects) {
      if (is_within(other, target)) return &other;
    }
  }
  return nullptr;
}

bool is_c_library(const MappedObject& object) {
  return object.facts && object.facts->soname.rfind("libc.", 0) == 0;
}

}  // namespace

bool brings_another_malloc(const MappedObject& object) {
  return object.facts && !object.facts->talus_version &&
         object.facts->soname.rfind("ld-", 0) != 0 &&
         defines_function(object.file, "malloc") == true;
}

std::vector<std::string> find_other_mallocs(const std::string& pid, const ProcessView& view,
                                            const MappedObject& talus) {
  std::vector<std::string> lines;
  if (defines_function(talus.file, "malloc") != true) return lines;
  const Words words(pid);
  for (const MappedObject& object : view.objects) {
    if (&object == &talus) continue;
    const MappedObject* const server = server_of(words, view, object, talus);
    if (server != nullptr) {
      lines.push_back(fmt::format(
          "{} uses the malloc of {}: the process ends when either frees a block of the other",
          object.path, server->path));
    } else if (brings_another_malloc(object) && !is_c_library(object)) {
      lines.push_back(
          fmt::format("{} defines a malloc of its own, which the loader finds after Talus' malloc",
                      object.path));
    }
  }
  return lines;
}

}  // namespace talus::tool
