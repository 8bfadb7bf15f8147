// SPDX-License-Identifier: MIT
//
// Owns: in which order the loader of a live process looks for a function: the program, what is
// preloaded, what is needed, then what came by dlopen. The loader keeps it as a list for debuggers,
// to which the program's dynamic section leads (DT_DEBUG); the environment may have been lost, and
// what it said is not always what was done.
// Invariant: only reads; the process is never trusted: each step may fail, and the list is bounded.
// Must not know: files, or why somebody asks.

#ifndef TALUS_TOOLS_TALUS_SEARCH_ORDER_HPP
#define TALUS_TOOLS_TALUS_SEARCH_ORDER_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace talus::tool {

// An address within each object, in the loader's order; empty where the list cannot be read.
// `headers` and `count` are what the kernel told of the program's segments (AT_PHDR, AT_PHNUM).
std::vector<uint64_t> search_order(const std::string& process, uint64_t headers, uint64_t count);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SEARCH_ORDER_HPP
