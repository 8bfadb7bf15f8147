// SPDX-License-Identifier: MIT
//
// Owns: see other_address.hpp.
// Invariant: see other_address.hpp.
// Must not know: see other_address.hpp.

#include "explain/other_address.hpp"

#include <fmt/format.h>

#include "observe/layout.hpp"
#include "observe/page_map_view.hpp"

namespace talus::tool {
namespace {

std::string in_slab(Look& look, const Layout& layout, uint64_t slab, uint64_t address) {
  const View fields(layout, "slab", {"base", "class_id"});
  const char* const copy = fields.read(look, slab);
  const uint64_t base = fields.get(copy, 0), index = fields.get(copy, 1);
  const View classes(layout, "classes", {"block_bytes"});
  const char* const table = classes.read(look, layout.root("classes"));
  const uint64_t block_bytes = classes.get(table, 0, index);
  if (block_bytes == 0) throw Implausible("a slab of a wrong size");
  if (address < base)
    return fmt::format("The address is {} bytes before the first block of a slab.", base - address);
  const uint64_t offset = (address - base) % block_bytes;
  return fmt::format(
      "The address is {} bytes into a place for blocks of {} bytes at {:#x}, which is not guarded.",
      offset, block_bytes, address - offset);
}

std::string in_large(Look& look, const Layout& layout, uint64_t large, uint64_t address) {
  const View fields(layout, "large", {"base", "usable_bytes", "state"});
  const char* const copy = fields.read(look, large);
  const uint64_t base = fields.get(copy, 0), bytes = fields.get(copy, 1);
  const bool is_inside = address >= base && address - base < bytes;
  return fmt::format(
      "The address is {} bytes {} a block of {} bytes at {:#x}, which is not guarded.",
      is_inside ? address - base : address - base - bytes, is_inside ? "into" : "behind the end of",
      bytes, base);
}

}  // namespace

std::string describe_address(const Memory& memory, const TalusCopy& copy, uint64_t address) {
  const Layout& layout = copy.layout;
  Look look(memory);
  PageMapView map(look, layout, nullptr);
  constexpr uint64_t addresses_end = uint64_t{1} << 47;
  if (address < addresses_end) {
    const uint64_t slice = address / map.slice_bytes() * map.slice_bytes();
    const PageMapView::Rows rows = map.rows_of(slice, 1);
    const Entry entry{rows.entries[0]};
    if (entry.is_slab()) return in_slab(look, layout, rows.descriptors[0], address);
    if (entry.bits == layout.constant("entry.large") && rows.descriptors[0] != 0) {
      return in_large(look, layout, rows.descriptors[0], address);
    }
    if (entry.bits == layout.constant("entry.special")) {
      return "The address is that of a block of a mode or a region, and not of a guarded one.";
    }
  }
  if (address < 4096) return "The address is that of a null pointer, or of a field behind one.";
  return "The address is no block's: Talus has no memory there, or the block was freed long ago.";
}

}  // namespace talus::tool
