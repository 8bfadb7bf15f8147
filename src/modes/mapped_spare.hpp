// SPDX-License-Identifier: MIT
// modes/mapped_spare: mappings set aside for the moment when the kernel allows no more.
//
//   | no access | access | no access | access | ...       each is a mapping of its own
//
// The program makes mappings too. So mapped blocks may use up what the kernel allows the process
// before they reach their own bound. With none left, no ordinary block could be made, and no freed
// block could lose its pages. At the first refusal Talus gives the spare mappings up.
//
// Owns: these mappings. Invariant: giving them up splits no mapping, which a full table would
// refuse. Called on: under the space lock. Must not know: blocks.
#ifndef TALUS_MODES_MAPPED_SPARE_HPP
#define TALUS_MODES_MAPPED_SPARE_HPP

#include "os/os.hpp"

namespace talus::core::mapped {

class SpareMappings {
 public:
  static constexpr size_t pairs = 64;

  // Without memory there are no spare mappings.
  void make() noexcept {
    if (base_ != nullptr) return;
    const size_t page = os::page_bytes();
    void* reserved = os::reserve_pages(2 * pairs * page);
    if (reserved == nullptr) return;
    char* base = static_cast<char*>(reserved);
    for (size_t i = 0; i < pairs; i++) {
      if (os::System::allow(base + (2 * i + 1) * page, page)) continue;
      os::System::unmap(base, 2 * pairs * page);
      return;
    }
    base_ = base;
  }

  // False: they were unmapped before. The first and the last page may have merged with neighbours.
  bool unmap() noexcept {
    if (base_ == nullptr) return false;
    const size_t page = os::page_bytes();
    os::System::unmap(base_ + page, 2 * (pairs - 1) * page);
    base_ = nullptr;
    return true;
  }

 private:
  char* base_ = nullptr;  // null: there are none
};

}  // namespace talus::core::mapped

#endif  // TALUS_MODES_MAPPED_SPARE_HPP
