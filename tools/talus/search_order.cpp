// SPDX-License-Identifier: MIT
//
// Owns: the walk from the program's segments to the loader's list, see search_order.hpp.
// Invariant: an unreadable page ends the walk. A circular list ends at objects_max.
// Must not know: which object is which.

#include "search_order.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <optional>

namespace talus::tool {
namespace {

constexpr uint64_t segments_max = 256;
constexpr uint64_t entries_max = 4096;
constexpr size_t objects_max = 65536;

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);  // an address in the other process, used as a number
}

// The memory of a process, read at its own addresses.
class Memory {
 public:
  explicit Memory(const std::string& process)
      : descriptor_(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  template <typename Value>
  std::optional<Value> at(uint64_t address) const {
    Value value;
    const ssize_t got = ::pread(descriptor_, &value, sizeof value, static_cast<off_t>(address));
    if (got != static_cast<ssize_t>(sizeof value)) return {};
    return value;
  }

 private:
  int descriptor_;  // constant; -1: could not be opened
};

// The address of the program's dynamic section; 0: absent, or the load address is not known.
uint64_t dynamic_section(const Memory& memory, uint64_t headers, uint64_t count) {
  std::optional<uint64_t> moved_by;
  uint64_t dynamic = 0;
  for (uint64_t i = 0; i < count && i < segments_max; i++) {
    const auto segment = memory.at<Elf64_Phdr>(headers + i * sizeof(Elf64_Phdr));
    if (!segment) return 0;
    if (segment->p_type == PT_PHDR) moved_by = headers - segment->p_vaddr;
    if (segment->p_type == PT_DYNAMIC) dynamic = segment->p_vaddr;
  }
  return moved_by && dynamic != 0 ? *moved_by + dynamic : 0;
}

// The loader's structure for debuggers; 0: absent, or the loader has not started.
uint64_t debug_page(const Memory& memory, uint64_t dynamic) {
  for (uint64_t i = 0; i < entries_max; i++) {
    const auto entry = memory.at<Elf64_Dyn>(dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) return 0;
    if (entry->d_tag == DT_DEBUG) return entry->d_un.d_ptr;
  }
  return 0;
}

}  // namespace

std::vector<uint64_t> search_order(const std::string& process, uint64_t headers, uint64_t count) {
  if (headers == 0) return {};
  const Memory memory(process);
  const uint64_t dynamic = dynamic_section(memory, headers, count);
  const uint64_t page = dynamic != 0 ? debug_page(memory, dynamic) : 0;
  const auto debug = page != 0 ? memory.at<r_debug>(page) : std::nullopt;
  std::vector<uint64_t> order;
  uint64_t next = debug ? address_of(debug->r_map) : 0;
  while (next != 0 && order.size() < objects_max) {
    const auto object = memory.at<link_map>(next);
    if (!object) break;
    order.push_back(address_of(object->l_ld));
    next = address_of(object->l_next);
  }
  return order;
}

}  // namespace talus::tool
