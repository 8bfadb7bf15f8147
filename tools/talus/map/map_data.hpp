// SPDX-License-Identifier: MIT
//
// Owns: the pieces of a process as the data of the page: JSON, with pages coded in runs.
// Invariant: the text stands within a script element, so it has no "<".
// Must not know: how the page draws them.

#ifndef TALUS_TOOLS_TALUS_MAP_MAP_DATA_HPP
#define TALUS_TOOLS_TALUS_MAP_MAP_DATA_HPP

#include <string>
#include <vector>

#include "observe/mapped_areas.hpp"
#include "why/picture.hpp"
#include "why/show_why.hpp"

namespace talus::tool {

std::string map_data(const PictureTitle& title, const Picture& picture,
                     const std::vector<Numbers>& copies, const std::vector<MappedArea>& areas);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_MAP_MAP_DATA_HPP
