// SPDX-License-Identifier: MIT
// modes/hardened_large: hardened blocks with pages of their own change their size.
//
//   before | . . . [data ......][pattern] . . . |     . no access, to the end of the slot
//   after  | . . . [data ................][patt] |
//
// A block that grows by little stays on its last page, or opens more pages of its slot. One that
// does not fit moves to a slot with head-room.
//
// Owns: these resizes. Invariants: from the end of a live block to the end of its last page lies
// the pattern of modes/mapped. What a block has more reads as zero. Called on: any thread, from
// slow paths. Must not know: blocks in slabs.
#ifndef TALUS_MODES_HARDENED_LARGE_HPP
#define TALUS_MODES_HARDENED_LARGE_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/contents.hpp"
#include "space/space.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "modes/mapped.hpp"
#include "modes/mapped_memory.hpp"
#include "modes/mapped_place.hpp"
#include "modes/mapped_report.hpp"
#include "modes/mapped_slots.hpp"

namespace talus::core::hardened {

// Bytes behind a large block that a resize looks at; the rest of the page waits for the free.
inline constexpr size_t resize_look_bytes = 64;

// Gives access to pages behind a live block, or takes it away. The caller alone resizes the block.
// A block between guards keeps its pages when it shrinks.
inline bool set_pages(Held<SpaceLock>& held, mapped::MappedBlock& block, size_t page_bytes) noexcept
    TALUS_REQUIRES(space.lock()) {
  const size_t before = block.page_bytes;
  if (page_bytes == before) return true;
  if (block.has_guards) return page_bytes < before;  // its slot is one slice, and the block small
  if (page_bytes > before) {
    void* const at = mapped::to_pointer(block.pages + before);
    if (!mapped::take_beside(held, page_bytes - before)) return false;
    if (block.state != mapped::State::live || !os::System::allow(at, page_bytes - before)) {
      mapped::give_beside(held, page_bytes - before);
      return false;
    }
  } else {
    void* const at = mapped::to_pointer(block.pages + page_bytes);
    if (!os::System::decommit(at, before - page_bytes)) return false;
    mapped::give_beside(held, before - page_bytes);
  }
  block.page_bytes = page_bytes;
  return true;
}
// Resizes a live block within its slot. False: it cannot, and is untouched. What it has more reads
// as zero, what lies behind it has the pattern again.
TALUS_APART bool resize_in_slot(mapped::MappedBlock& block, size_t bytes) noexcept {
  const size_t page = os::page_bytes();
  if (bytes > mapped::bytes_max) return false;
  const uintptr_t end = block.start + bytes, before = block.end();
  if (end > block.slot + block.slices * slice_bytes - page) return false;
  const uintptr_t used_end = bytes == 0 ? end + 1 : end;  // at least a page stays
  const uintptr_t pages_before = block.pages_end();
  {
    Held held{space.lock()};
    if (block.state != mapped::State::live) return false;
    if (!set_pages(held, block, round_up(used_end, page) - block.pages)) return false;
    special_pool.live_bytes += bytes - block.bytes;
    block.bytes = bytes;
  }
  const uintptr_t pages_end = block.pages_end();
  if (end > before) {
    const uintptr_t old_end = pages_before < end ? pages_before : end;
    if (old_end > before) clear_bytes(mapped::to_pointer(before), old_end - before);
    if (pages_end != pages_before) mapped::fill(end, pages_end);
  } else {
    mapped::fill(end, before < pages_end ? before : pages_end);
  }
  return true;
}
// A block that grows and does not fit moves to a slot with room for as much again, so that it moves
// rarely: a move copies, and head-room has no pages.
TALUS_APART void* reallocate_large(SpecialBlock& special, void* pointer, size_t bytes,
                                   bool&) noexcept {
  auto& block = static_cast<mapped::MappedBlock&>(special);
  const size_t before = mapped::usable_bytes_of_mapped(special, pointer, "realloc");
  mapped::prove_pattern(block, resize_look_bytes);
  // A small one becomes an ordinary block.
  if (bytes > small_bytes_max && resize_in_slot(block, bytes)) return pointer;
  const bool grows = bytes > before && bytes > medium_bytes_max;
  const size_t asked = grows && bytes <= mapped::bytes_max / 2 ? 2 * bytes : bytes;
  void* moved = make_by_mode({asked, block_alignment, 0});
  if (moved == nullptr && grows) moved = make_by_mode({bytes, block_alignment, 0});
  if (moved == nullptr) return nullptr;
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(moved));
  if (grows && is_special(word)) {
    resize_in_slot(static_cast<mapped::MappedBlock&>(*special_of(moved)), bytes);
  }
  copy_bytes(moved, pointer, before < bytes ? before : bytes);
  free_special(pointer);
  return moved;
}
// talus_expand, and a realloc to fewer bytes that finds no memory.
TALUS_APART bool resize_in_place(SpecialBlock& special, size_t bytes) noexcept {
  auto& block = static_cast<mapped::MappedBlock&>(special);
  mapped::prove_pattern(block, resize_look_bytes);
  return resize_in_slot(block, bytes);
}
inline constexpr SpecialOperations large_operations = {mapped::free_mapped,
                                                       mapped::usable_bytes_of_mapped,
                                                       reallocate_large, nullptr, resize_in_place};

// Resizes a block whose last page stays the last one: growth by little is mostly this. False: it is
// no such case, and nothing changed.
TALUS_APART bool stays_on_page(void* pointer, size_t bytes) noexcept {
  SpecialBlock* special = special_of(pointer);
  if (special == nullptr || &special->operations() != &large_operations) return false;
  auto& block = static_cast<mapped::MappedBlock&>(*special);
  uintptr_t changed = 0;
  {
    Held held{space.lock()};
    const uintptr_t start = reinterpret_cast<uintptr_t>(pointer), pages_end = block.pages_end();
    if (block.state != mapped::State::live || block.start != start) return false;
    if (bytes <= small_bytes_max || bytes > pages_end - start) return false;
    if (pages_end - start - bytes >= os::page_bytes_if_known()) return false;
    const uintptr_t before = block.end(), end = start + bytes;
    changed = mapped::first_changed(before, mapped::look_end(block, resize_look_bytes));
    if (TALUS_LIKELY(changed == 0)) {
      special_pool.live_bytes += bytes - block.bytes;
      block.bytes = bytes;
      if (end > before) clear_few(mapped::to_pointer(before), end - before);
      if (end < before) mapped::fill(end, before);
    }
  }
  if (TALUS_UNLIKELY(changed != 0)) mapped::report_damage(block, changed, mapped::this_thread());
  return true;
}

}  // namespace talus::core::hardened

#endif  // TALUS_MODES_HARDENED_LARGE_HPP
