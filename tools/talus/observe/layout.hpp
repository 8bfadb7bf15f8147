// SPDX-License-Identifier: MIT
//
// Owns: the table with which a process describes its heap (src/observe/observed_table.hpp), as the
// command reads it: fields by name, and objects whose fields have names.
// Invariant: a field that the process does not have is an error with its name, never a guess. No
// access goes beyond the bytes that were read.
// Must not know: what the numbers mean.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_LAYOUT_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_LAYOUT_HPP

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "observe/memory.hpp"

namespace talus::tool {

// The process describes itself in words that this command does not know.
struct NotUnderstood : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Field {
  uint32_t value;  // an offset, or the constant itself
  uint32_t count;
  uint32_t stride;
  uint32_t bytes;

  size_t end() const { return value + size_t{stride} * (count - 1) + bytes; }
};

class Layout {
 public:
  void add(const std::string& name, const Field& field) { fields_[name] = field; }
  // "heap.taken_blocks"
  const Field& field(std::string_view name) const;
  uint64_t constant(std::string_view name) const { return field(name).value; }
  bool has(std::string_view name) const { return fields_.find(name) != fields_.end(); }
  void set_root(const std::string& name, uint64_t address) { roots_[name] = address; }
  uint64_t root(std::string_view name) const;

 private:
  std::map<std::string, Field, std::less<>> fields_;
  std::map<std::string, uint64_t, std::less<>> roots_;
};

// The part of an object from its first wanted field to its last.
class View {
 public:
  View() = default;
  View(const Layout& layout, std::string_view type, const std::vector<const char*>& names);

  uint64_t first_byte() const { return begin_; }
  size_t bytes() const { return end_ - begin_; }
  const Field& operator[](size_t index) const { return fields_[index]; }
  // Number `index` of a field of the object that was read to `copy`.
  uint64_t get(const char* copy, size_t field, size_t index = 0) const;
  // Reads an object at this address.
  const char* read(Look& look, uint64_t address) const {
    return look.read(address + begin_, bytes());
  }

 private:
  std::vector<Field> fields_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_LAYOUT_HPP
