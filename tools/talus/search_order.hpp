// SPDX-License-Identifier: MIT
//
// Owns: the order in which the loader of a live process searches objects for a function: the
// program, preloaded libraries, needed libraries, libraries opened by dlopen. The loader keeps this
// order as a list for debuggers, which the program's dynamic section leads to (DT_DEBUG). The
// environment is no substitute: it may be lost, and the loader may not have followed it.
// Invariant: only reads. The process is not trusted: each step may fail, and the list is bounded.
// Must not know: files, or the purpose of the order.

#ifndef TALUS_TOOLS_TALUS_SEARCH_ORDER_HPP
#define TALUS_TOOLS_TALUS_SEARCH_ORDER_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace talus::tool {

// An address within each object, in the loader's order. Empty if the list cannot be read. `headers`
// and `count` describe the program's segments, as the kernel passed them (AT_PHDR, AT_PHNUM).
std::vector<uint64_t> search_order(const std::string& process, uint64_t headers, uint64_t count);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SEARCH_ORDER_HPP
