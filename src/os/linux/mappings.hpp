// SPDX-License-Identifier: MIT
// os/linux/mappings: what the kernel is told of a mapping, and what it tells.
//
// Owns: nothing. Contract: os/contract.hpp, the groups huge_pages, residency, populate, nodes and
// names. Advice and names are hints: a refusal changes nothing. Called on: any thread. Must not
// know: its callers.
#ifndef TALUS_OS_LINUX_MAPPINGS_HPP
#define TALUS_OS_LINUX_MAPPINGS_HPP

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/arguments.hpp"
#include "os/linux/kernel_call.hpp"

namespace talus::core::os {

struct LinuxMappings : KernelCall {
  static constexpr bool has_huge_pages = true, has_residency = true, has_populate = true;
  static constexpr bool has_nodes = true, has_names = true;

  static void advise_huge(void* at, size_t bytes) noexcept {
    call(SYS_madvise, to_long(at), static_cast<long>(bytes), MADV_HUGEPAGE);
  }
  static void advise_small(void* at, size_t bytes) noexcept {
    call(SYS_madvise, to_long(at), static_cast<long>(bytes), MADV_NOHUGEPAGE);
  }
  static bool look_for_pages(const void* at, size_t bytes, unsigned char* pages) noexcept {
    return call(SYS_mincore, to_long(at), static_cast<long>(bytes), to_long(pages)) == 0;
  }
  static bool populate(void* at, size_t bytes, size_t page_bytes) noexcept {
    constexpr long populate_write = 23;  // Linux 5.14
    const long result = call(SYS_madvise, to_long(at), static_cast<long>(bytes), populate_write);
    if (result != invalid_argument) return result == 0;
    // An older kernel: page by page, and it ends the process if there are not enough pages.
    auto* place = static_cast<volatile char*>(at);
    for (size_t offset = 0; offset < bytes; offset += page_bytes) place[offset] = 0;
    return true;
  }
  static long prefer_node(void* at, size_t bytes, size_t node) noexcept {
    constexpr size_t word_bits = 8 * sizeof(unsigned long);
    unsigned long mask[nodes_max / word_bits] = {};
    mask[node / word_bits] = 1ul << (node % word_bits);
    const long bits = nodes_max + 1;  // the kernel counts one less
    return call(SYS_mbind, to_long(at), static_cast<long>(bytes), MPOL_PREFERRED, to_long(mask),
                bits);
  }
  static void name_mapping(void* at, size_t bytes, const char* name) noexcept {
    constexpr long set_mapping = 0x53564d41, anonymous_name = 0;  // Linux 5.17
    call(SYS_prctl, set_mapping, anonymous_name, to_long(at), static_cast<long>(bytes),
         to_long(name));
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_MAPPINGS_HPP
