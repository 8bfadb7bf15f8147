// SPDX-License-Identifier: MIT
// observe/observed_table: the words in which a process describes its heap to other processes.
//
//   note of the file -> ObservedState | magic | version | roots: addresses of objects |
//                    -> ObservedTable | version | fields: where each number lies |
//
// A reader looks a field up by its name, so an older command reads a newer library, and the other
// way round. Owns: the format. Invariants: within one version no member moves, and a name keeps its
// meaning. A reader refuses a version that it does not know.
// Must not know: which fields there are.
#ifndef TALUS_OBSERVE_OBSERVED_TABLE_HPP
#define TALUS_OBSERVE_OBSERVED_TABLE_HPP

#include "base/base.hpp"

namespace talus::core {

inline constexpr uint32_t observed_version = 1;
inline constexpr char observed_magic[8] = {'t', 'a', 'l', 'u', 's', 'o', 'b', 's'};
inline constexpr uint32_t observed_note_type = 2;  // the version note has type 1

// root: `value` is the offset in ObservedState of an object's address. field: `value` is the offset
// in the object that the name begins with. constant: `value` itself.
enum class ObservedKind : uint8_t { root, field, constant };

// One number, or `count` numbers that lie `stride` bytes apart.
struct ObservedField {
  char name[36];  // "heap.taken_blocks"; ends in a zero
  uint32_t value;
  uint32_t count;
  uint16_t stride;
  uint8_t bytes;  // of one number: 1, 2, 4 or 8
  ObservedKind kind;
};
static_assert(sizeof(ObservedField) == 48, "the format has no padding");

template <size_t Count>
struct ObservedTable {
  uint32_t version;
  uint32_t field_bytes;
  uint32_t field_count;
  uint32_t unused;
  ObservedField fields[Count];
};

template <size_t NameBytes>
constexpr ObservedField observed_field(const char (&name)[NameBytes], ObservedKind kind,
                                       size_t value, size_t bytes, size_t count,
                                       size_t stride) noexcept {
  static_assert(NameBytes <= sizeof(ObservedField::name), "the name fits");
  ObservedField field{{},
                      static_cast<uint32_t>(value),
                      static_cast<uint32_t>(count),
                      static_cast<uint16_t>(stride),
                      static_cast<uint8_t>(bytes),
                      kind};
  for (size_t i = 0; i < NameBytes; i++) field.name[i] = name[i];
  return field;
}

}  // namespace talus::core

#endif  // TALUS_OBSERVE_OBSERVED_TABLE_HPP
