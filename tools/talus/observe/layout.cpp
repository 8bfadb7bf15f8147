// SPDX-License-Identifier: MIT
//
// Owns: see layout.hpp.
// Invariant: see layout.hpp.
// Must not know: what the numbers mean.

#include "observe/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace talus::tool {

const Field& Layout::field(std::string_view name) const {
  const auto found = fields_.find(name);
  if (found != fields_.end()) return found->second;
  throw NotUnderstood(fmt::format("its version of Talus does not tell {}", name));
}

uint64_t Layout::root(std::string_view name) const {
  const auto found = roots_.find(name);
  if (found != roots_.end()) return found->second;
  throw NotUnderstood(fmt::format("its version of Talus does not tell {}", name));
}

View::View(const Layout& layout, std::string_view type, const std::vector<const char*>& names) {
  begin_ = SIZE_MAX;
  for (const char* const name : names) {
    fields_.push_back(layout.field(fmt::format("{}.{}", type, name)));
    begin_ = std::min<size_t>(begin_, fields_.back().value);
    end_ = std::max(end_, fields_.back().end());
  }
}

uint64_t View::get(const char* copy, size_t field, size_t index) const {
  const Field& at = fields_[field];
  if (index >= at.count) throw Implausible(fmt::format("element {} of {}", index, at.count));
  uint64_t value = 0;  // little endian, as the process
  std::memcpy(&value, copy + (at.value - begin_) + size_t{at.stride} * index, at.bytes);
  return value;
}

}  // namespace talus::tool
