// SPDX-License-Identifier: MIT
//
// Owns: see own_frames.hpp.
// Invariant: see own_frames.hpp.
// Must not know: see own_frames.hpp.

#include "profile/own_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace talus::tool {
namespace {

constexpr std::array<std::string_view, 14> allocator_names = {
    "malloc", "calloc",  "realloc", "reallocarray", "aligned_alloc",  "posix_memalign", "memalign",
    "valloc", "pvalloc", "strdup",  "operator new", "operator new[]", "cfree",          "free"};

bool is_own_name(const std::string& name) {
  if (name.rfind("talus::core::", 0) == 0 || name.find(" talus::core::") != std::string::npos) {
    return true;
  }
  const std::string_view bare = std::string_view(name).substr(0, name.find('('));
  return std::find(allocator_names.begin(), allocator_names.end(), bare) != allocator_names.end();
}

}  // namespace

void drop_own_frames(std::vector<Place>& places, const std::string& object, CodeNames& names) {
  for (Place& place : places) {
    size_t own = 0;
    for (; own + 1 < place.frames.size(); own++) {
      const uint64_t address = place.frames[own] - 1;
      const CodeArea* const area = names.area_of(address);
      const bool is_library = area != nullptr && area->mapping.path == object &&
                              object.find(".so") != std::string::npos;
      if (!is_library && !is_own_name(names.lines_at(address).back().function)) break;
    }
    place.frames.erase(place.frames.begin(),
                       place.frames.begin() + static_cast<std::ptrdiff_t>(own));
  }
}

std::vector<CodeLine> lines_of_frame(uint64_t frame, CodeNames& names) {
  const uint64_t address = frame - 1;
  std::vector<CodeLine> lines = names.lines_at(address);
  const auto first = std::find_if(lines.begin(), lines.end() - 1,
                                  [](const CodeLine& line) { return !is_own_name(line.function); });
  lines.erase(lines.begin(), first);
  CodeLine& last = lines.back();
  if (last.function.empty()) {
    const CodeArea* const area = names.area_of(address);
    last.function =
        area == nullptr
            ? fmt::format("{:#x}", address)
            : fmt::format("{}+{:#x}", std::filesystem::path(area->mapping.path).filename().string(),
                          address - area->bias);
  }
  return lines;
}

}  // namespace talus::tool
