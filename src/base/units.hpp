// SPDX-License-Identifier: MIT
// base/units: numbers that must not be mixed up get types of their own.
//
// Owns: ClassId, HeapId and flags for call sites. Invariant: these types convert neither to each
// other nor implicitly to integers; index_of() is the only way out. Byte sizes are size_t
// everywhere and end in _bytes; counts end in _count. Must not know: what the ids name.
#ifndef TALUS_BASE_UNITS_HPP
#define TALUS_BASE_UNITS_HPP

#include <cstddef>
#include <cstdint>

namespace talus::core {

// A size class: 0 to class_count - 1.
enum class ClassId : uint8_t {};
constexpr size_t index_of(ClassId id) noexcept { return static_cast<size_t>(id); }

// A heap: 0 is no heap; real heaps start at 1.
enum class HeapId : uint16_t { none = 0 };
constexpr size_t index_of(HeapId id) noexcept { return static_cast<size_t>(id); }

// Must the bytes of a new block be zero?
enum class Zeroed : bool { no, yes };

// May realloc move the block?
enum class MayMove : bool { no, yes };

}  // namespace talus::core

#endif  // TALUS_BASE_UNITS_HPP
