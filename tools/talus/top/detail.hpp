// SPDX-License-Identifier: MIT
//
// Owns: what `talus top` tells of one process: memory, classes, threads, heaps and instances.
// Invariant: a line has no control character.
// Must not know: which terminal shows it.

#ifndef TALUS_TOOLS_TALUS_TOP_DETAIL_HPP
#define TALUS_TOOLS_TALUS_TOP_DETAIL_HPP

#include <string>
#include <vector>

#include "terminal.hpp"
#include "top/watched.hpp"

namespace talus::tool {

enum class DetailTab : uint8_t { memory, classes, threads, heaps, instances, sites };
constexpr size_t detail_tab_count = 6;
const char* name_of(DetailTab tab);

struct DetailLines {
  std::string title;  // of the columns; empty: none
  std::vector<std::string> lines;
};
// Of sites, see site_look.hpp.
DetailLines detail_lines(const Terminal& terminal, const WatchedRow& row, DetailTab tab);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_TOP_DETAIL_HPP
