// SPDX-License-Identifier: MIT
// regions/region_request: what a program asks of a region and of the kernel for its pages.
//
// A request may name a node of the machine, and a name for /proc/PID/maps. A node is preferred, not
// required: when it is full, memory of other nodes is better than none, which would end the
// process.
// Owns: what happens when the kernel refuses a request. Invariants: both are requested before any
// page has memory. A refused name is not reported.
// Called on: any thread, without locks. Must not know: what lies in the pages.
#ifndef TALUS_REGIONS_REGION_REQUEST_HPP
#define TALUS_REGIONS_REGION_REQUEST_HPP

#include "talus/talus.h"
#include "os/os.hpp"

namespace talus::core {

struct RegionRequest {
  talus_provider provider{};
  const char* name = nullptr;
  unsigned node = 0;  // one more than the node's number; 0: any
};

// Why there is no region.
enum class RegionError : uint8_t {
  none,
  memory,     // there is none, or no file
  node,       // there is no such node, or the process may not use it
  forbidden,  // the process may not choose the node of its memory
};

inline RegionError prefer_wished_node(void* at, size_t bytes, unsigned requested) noexcept {
  if (requested == 0) return RegionError::none;
  const size_t node = requested - 1;
  switch (os::System::prefer_node(at, bytes, node)) {
    case 0:
      return RegionError::none;
    // A kernel that does not know nodes has one.
    case os::System::no_such_call:
      return node == 0 ? RegionError::none : RegionError::node;
    case os::System::not_permitted:
      return RegionError::forbidden;
    case os::System::no_memory:
      return RegionError::memory;
    default:
      return RegionError::node;
  }
}

// "talus:" and a heap's name, with the characters that the kernel refuses replaced.
class MappingName {
 public:
  explicit MappingName(const char* name) noexcept {
    for (const char* from = "talus:"; *from != '\0'; from++) put(*from);
    while (*name != '\0' && length_ < os::mapping_name_bytes - 1) put(*name++);
    text_[length_] = '\0';
  }
  const char* text() const noexcept { return text_; }

 private:
  static bool is_refused(char letter) noexcept {
    const bool is_sign =
        letter == '[' || letter == ']' || letter == '\\' || letter == '$' || letter == '`';
    return is_sign || letter < ' ' || letter > '~';
  }
  void put(char letter) noexcept { text_[length_++] = is_refused(letter) ? '_' : letter; }

  char text_[os::mapping_name_bytes];
  size_t length_ = 0;
};

// Requests node and name for pages that have no memory yet.
inline RegionError ask_for_pages(void* at, size_t bytes, const RegionRequest& request) noexcept {
  const RegionError refusal = prefer_wished_node(at, bytes, request.node);
  if (refusal != RegionError::none || request.name == nullptr || request.name[0] == '\0') {
    return refusal;
  }
  os::System::name_mapping(at, bytes, MappingName{request.name}.text());
  return refusal;
}

}  // namespace talus::core

#endif  // TALUS_REGIONS_REGION_REQUEST_HPP
