// SPDX-License-Identifier: MIT
//
// Owns: the places where the dynamic loader looks for a library: LD_LIBRARY_PATH, its cache
// (/etc/ld.so.cache) and the standard folders, in this order.
// Invariant: the cache is not trusted. Each offset is checked before use, and a damaged or absent
// cache reads as empty.
// Must not know: which libraries are allocators.

#ifndef TALUS_TOOLS_TALUS_COMPARE_LOADER_CACHE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_LOADER_CACHE_HPP

#include <string>
#include <string_view>
#include <vector>

namespace talus::tool {

// The paths in the bytes of a loader cache, in its order.
std::vector<std::string> paths_in_cache(std::string_view cache);

// Every shared library file that the loader can find by its name, in the loader's order.
std::vector<std::string> loader_libraries();

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_LOADER_CACHE_HPP
