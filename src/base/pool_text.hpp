// SPDX-License-Identifier: MIT
// base/pool_text: texts of constant tables, given by their place in one pool.
//
// Owns: the type. Pointers to texts would be data that the loader must relocate in every process
// that has the library. Places need no relocation. Invariant: a place is the index of the first
// character of a text; place 0 is the empty text. Called on: anywhere, also at compile time. Must
// not know: which tables there are.
#ifndef TALUS_BASE_POOL_TEXT_HPP
#define TALUS_BASE_POOL_TEXT_HPP

#include <cstddef>
#include <cstdint>

namespace talus::core {

template <const auto& Pool>
class PoolText {
 public:
  constexpr PoolText() = default;
  constexpr explicit PoolText(std::size_t place) : place_{static_cast<std::uint16_t>(place)} {
    static_assert(sizeof(Pool) <= UINT16_MAX, "a place fits");
  }
  constexpr const char* text() const { return Pool + place_; }
  constexpr operator const char*() const { return text(); }

 private:
  std::uint16_t place_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_BASE_POOL_TEXT_HPP
