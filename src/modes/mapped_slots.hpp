// SPDX-License-Identifier: MIT
// modes/mapped_slots: addresses for mapped blocks, before and after their life.
//
//   region of slots   | . [block] . | . . . . . . | . [block] . |     . no access
//                       live          freed         live
//
// A kernel with guards has pages without access inside a mapping. There, the used part of a region
// is one mapping, whatever lives in it.
//
// Owns: regions, whose slots have one slice and are reused in the order of their frees. Larger
// slots, each mapped and unmapped alone. The quarantine, which keeps the addresses of freed blocks
// for a while. Invariants: a slot is in one place: with the program, in the quarantine, or
// in free_slots. Only the pages of live blocks have access. A live block costs at most two
// mappings, one with guards none, and a freed one of a region none. Called on: any thread, under
// the space lock, which a fork takes too. Must not know: what happens when no slot is left.
#ifndef TALUS_MODES_MAPPED_SLOTS_HPP
#define TALUS_MODES_MAPPED_SLOTS_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "modes/mapped_memory.hpp"
#include "modes/mapped_place.hpp"
#include "modes/mapped_report.hpp"
#include "modes/mapped_spare.hpp"

namespace talus::core::mapped {

inline constexpr size_t live_mappings = 2;  // of a live block: its pages, and the part before them
inline constexpr size_t region_bytes_min = 4 * mib;
// One step sets guards for this much of a region.
inline constexpr size_t guard_step_bytes = 4 * mib;
inline constexpr size_t region_bytes_start = 64 * mib;
inline constexpr size_t region_bytes_max = size_t{1} << 32;
// The fraction of the mappings that freed large blocks may have: one in this many.
inline constexpr size_t quarantine_mappings_part = 8;
// The most freed blocks that leave the quarantine to give addresses to a new one.
inline constexpr int evictions_max = 64;

// First in, first out.
struct Queue {
  MappedBlock* first = nullptr;
  MappedBlock* last = nullptr;

  void push(MappedBlock& block) noexcept {
    block.next = nullptr;
    (first == nullptr ? first : last->next) = &block;
    last = &block;
  }
  MappedBlock* pop() noexcept {
    MappedBlock* block = first;
    if (block != nullptr) first = block->next;
    return block;
  }
};

struct Settings {
  Guard guard = Guard::at_end;
  size_t quarantine_bytes = 0;  // addresses
  size_t blocks = SIZE_MAX;     // that may live at a time
  size_t mappings = 0;          // that blocks may have
  size_t address_bytes = 0;     // that slots may have; 0: no bound
};

struct Pool {
  Settings settings;                              // constant from begin() on
  const SpecialOperations* operations = nullptr;  // of all blocks; constant from begin() on
  const Mode* maker = nullptr;                    // the mode that makes them; likewise
  // under the space lock
  SpareMappings spare;
  size_t left_bound = 0;  // of mappings, after the kernel refused one; 0: no refusal
  Queue free_slots;       // of one slice
  Queue quarantine;
  MappedBlock* unused = nullptr;  // descriptors without a slot
  uintptr_t region_next = 0;      // the unused part of the newest region
  uintptr_t region_end = 0;
  uintptr_t slow_end = 0;                    // the region's slots below it have guards
  bool has_guards = true;                    // the kernel has not refused them so far
  size_t region_bytes = region_bytes_start;  // of the next one
  size_t mappings = 0;                       // approximate; of live and freed blocks
  size_t address_bytes = 0;                  // of regions and other slots
  size_t quarantined_bytes = 0;
  size_t quarantined_mappings = 0;
  size_t room_end = 0;      // up to this many address bytes, others were found to have room
  size_t refused_live = 0;  // live blocks when others had no room; 0: they have room
  bool has_warned = false;

  size_t mappings_max() const noexcept {
    return left_bound != 0 && left_bound < settings.mappings ? left_bound : settings.mappings;
  }
  // What the quarantine holds is the sum of its blocks, which are freed. Free slots are no blocks.
  bool is_sound() const noexcept {
    size_t bytes = 0, own_mappings = 0;
    for (const MappedBlock* block = quarantine.first; block != nullptr; block = block->next) {
      if (block->state != State::freed) return false;
      bytes += block->slices * slice_bytes;
      if (block->has_own_mapping) own_mappings++;
    }
    for (const MappedBlock* slot = free_slots.first; slot != nullptr; slot = slot->next) {
      if (slot->state == State::live || slot->slices != 1) return false;
    }
    if (bytes != quarantined_bytes || own_mappings != quarantined_mappings) return false;
    return region_next <= region_end && special_pool.is_sound();
  }
};
TALUS_CONSTINIT inline Pool pool;

// In audit builds, where a block enters or leaves the quarantine. The space lock is held.
inline void audit(const Pool& of) noexcept {
  if (is_audit_due(of.address_bytes / slice_bytes)) TALUS_AUDIT_SOUND(of);
}

inline void* to_pointer(uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }

// After a refusal, blocks may have fewer mappings, by one in this many. The bound ends when they
// have half of what it allows.
inline constexpr size_t refused_part = 8;
// With fewer mappings the blocks are not what fills the kernel's table.
inline constexpr size_t refused_mappings_min = 256;

// Called when the kernel refused a mapping: the rest of the process needs some too. True: spare
// mappings were given up, so the kernel has some again.
TALUS_COLD bool leave_mappings() noexcept {
  if (pool.mappings >= refused_mappings_min) {
    pool.left_bound = pool.mappings - pool.mappings / refused_part;
  }
  return pool.spare.unmap();
}

// True when one more live block may have mappings.
inline bool has_mappings() noexcept {
  if (TALUS_UNLIKELY(pool.left_bound != 0) && pool.mappings <= pool.left_bound / 2) {
    pool.left_bound = 0;
    pool.spare.make();
  }
  return pool.mappings + live_mappings <= pool.mappings_max();
}

// This many slices at each end of a slot map to their block. The middle of a larger slot does not,
// and a late access there has no explanation.
inline constexpr size_t known_slices = 1024;

inline void set_words(uintptr_t slot, size_t slices, PageEntry word, void* block) noexcept {
  if (slices <= 2 * known_slices) return page_map.set_all(slot, slices, word, block);
  page_map.set_all(slot, known_slices, word, block);
  page_map.set_all(slot + (slices - known_slices) * slice_bytes, known_slices, word, block);
}

// True when the rest of the process can still reserve half as many addresses as slots have. That
// rest includes ordinary blocks. The program may set itself a limit at any time, and Talus does not
// see that call. So this function tries a reservation from time to time.
inline bool leaves_room(size_t bytes) noexcept {
  const size_t requested = pool.address_bytes + bytes;
  if (requested <= pool.room_end) return true;
  if (pool.refused_live != 0 && special_pool.live_count > pool.refused_live / 2) return false;
  const size_t probe = round_up(bytes + requested / 2, slice_bytes);
  void* probed = os::reserve_pages(probe);
  if (probed != nullptr) {
    os::System::unmap(probed, probe);
    pool.room_end = requested + requested / 8;
    pool.refused_live = 0;
  } else if (bytes <= region_bytes_min) {
    pool.refused_live = special_pool.live_count;
  }
  return probed != nullptr;
}

// Reserves `bytes` at a multiple of a slice and extends the page map to them; 0: refused.
inline uintptr_t reserve(size_t bytes) noexcept {
  const size_t bound = pool.settings.address_bytes;
  if (bound != 0 && pool.address_bytes + bytes > bound) return 0;
  if (!leaves_room(bytes)) return 0;
  void* reserved = os::reserve_aligned(bytes, slice_bytes);
  if (reserved == nullptr) {
    leave_mappings();
    return 0;
  }
  const uintptr_t base = reinterpret_cast<uintptr_t>(reserved);
  if (page_map.cover(base, bytes)) return base;
  os::System::unmap(reserved, bytes);
  return 0;
}

inline bool reserve_region() noexcept {
  TALUS_ASSERT(pool.region_next == pool.region_end);  // nothing of the one before is lost
  size_t bytes = pool.region_bytes;
  uintptr_t base = reserve(bytes);
  while (base == 0 && bytes > region_bytes_min) base = reserve(bytes /= 2);
  if (base == 0) return false;
  pool.region_next = base;
  pool.region_end = base + bytes;
  pool.slow_end = base;
  pool.address_bytes += bytes;
  pool.region_bytes = bytes < region_bytes_max ? 2 * bytes : bytes;
  pool.mappings++;
  return true;
}

// Sets guards on the region's next slots, in one mapping with those before. A kernel that refuses
// is not asked again.
inline void guard_next_slots() noexcept {
  if (!pool.has_guards) return;
  const size_t left = pool.region_end - pool.slow_end;
  const size_t bytes = left < guard_step_bytes ? left : guard_step_bytes;
  void* const at = to_pointer(pool.slow_end);
  pool.has_guards = os::System::allow(at, bytes);
  if (!pool.has_guards) return;
  pool.has_guards = os::System::set_guards(at, bytes);
  if (pool.has_guards) {
    pool.slow_end += bytes;
  } else if (!os::System::decommit(at, bytes)) {
    pool.region_next = pool.region_end;  // its pages can be touched: no block gets it
  }
}

inline MappedBlock* take_descriptor(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(space.lock()) {
  if (MappedBlock* block = pool.unused) {
    pool.unused = block->next;
    return block;
  }
  void* memory = space.take_metadata(held, sizeof(MappedBlock));
  if (memory == nullptr) return nullptr;
  auto* block = static_cast<MappedBlock*>(memory);
  block->shared_operations.store_init(pool.operations);
  return block;
}
inline void give_descriptor(MappedBlock& block) noexcept {
  TALUS_ASSERT(space.lock().is_own() && block.state != State::live);
  block.state = State::unused;
  block.next = pool.unused;
  pool.unused = &block;
}

// A slot of one slice; null: no addresses or no memory.
inline MappedBlock* take_slot(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(space.lock()) {
  if (MappedBlock* block = pool.free_slots.pop()) return block;
  MappedBlock* block = take_descriptor(held);  // first: space may let others in meanwhile
  if (block == nullptr) return nullptr;
  const bool has_region = pool.region_next != pool.region_end || reserve_region();
  if (has_region && pool.region_next == pool.slow_end) guard_next_slots();
  if (!has_region || pool.region_next == pool.region_end) {
    give_descriptor(*block);
    return nullptr;
  }
  block->slot = pool.region_next;
  block->slices = 1;
  block->has_own_mapping = false;
  block->has_guards = block->slot < pool.slow_end;
  pool.region_next += slice_bytes;
  set_words(block->slot, 1, special_word, block);
  return block;
}

// A slot mapped for this request, with the length that its placement needs; null: no addresses or
// no memory.
inline MappedBlock* map_slot(Held<SpaceLock>& held, const BlockRequest& request,
                             size_t page) noexcept TALUS_REQUIRES(space.lock()) {
  MappedBlock* block = take_descriptor(held);
  if (block == nullptr) return nullptr;
  const size_t bytes = slot_bytes_for(request, page);
  const uintptr_t base = reserve(bytes);
  if (base == 0) {
    give_descriptor(*block);
    return nullptr;
  }
  // A large alignment asks for more addresses than the block keeps.
  const Place place = place_in(base, bytes, request, page, pool.settings.guard);
  const uintptr_t from = round_down(place.pages - page, slice_bytes);
  const uintptr_t to = round_up(place.pages + place.page_bytes + page, slice_bytes);
  if (from != base) os::System::unmap(to_pointer(base), from - base);
  if (to != base + bytes) os::System::unmap(to_pointer(to), base + bytes - to);
  block->slot = from;
  block->slices = (to - from) / slice_bytes;
  block->has_own_mapping = true;
  block->has_guards = false;
  pool.address_bytes += to - from;
  block->start = place.start;
  block->pages = place.pages;
  block->page_bytes = place.page_bytes;
  pool.mappings++;
  set_words(from, block->slices, special_word, block);
  return block;
}

// Gives access to the block's pages. False: they stay without access.
inline bool open_pages(MappedBlock& block) noexcept {
  void* const at = to_pointer(block.pages);
  if (block.has_guards) return os::System::lift_guards(at, block.page_bytes);
  if (!os::System::allow(at, block.page_bytes)) return false;
  pool.mappings += live_mappings;
  return true;
}
// Takes access away. A full kernel table refuses this; then it gives up the spare mappings and
// retries.
inline bool decommit_pages(const MappedBlock& block) noexcept {
  void* const pages = to_pointer(block.pages);
  return os::System::decommit(pages, block.page_bytes) ||
         (leave_mappings() && os::System::decommit(pages, block.page_bytes));
}
// False: the slot cannot be used again.
inline bool close_pages(Held<SpaceLock>& held, MappedBlock& block) noexcept
    TALUS_REQUIRES(space.lock()) {
  bool has_slot = true;
  if (!block.has_guards) {
    if (!decommit_pages(block)) return false;  // nor does its memory go
    pool.mappings -= live_mappings;
  } else if (!os::System::set_guards(to_pointer(block.pages), block.page_bytes)) {
    // The memory goes; the block's own mapping stays for good.
    if (!decommit_pages(block)) return false;
    pool.mappings += live_mappings;
    has_slot = false;
  }
  give_beside(held, block.page_bytes);
  return has_slot;
}

// Ends a slot that leaves the quarantine or was never used. Its pages have no access and read as
// zero.
inline void give_slot(MappedBlock& block) noexcept {
  TALUS_ASSERT(space.lock().is_own() && block.state != State::live);
  if (!block.has_own_mapping) return pool.free_slots.push(block);
  set_words(block.slot, block.slices, PageEntry{}, nullptr);
  os::System::unmap(to_pointer(block.slot), block.slices * slice_bytes);
  pool.address_bytes -= block.slices * slice_bytes;
  pool.mappings--;
  give_descriptor(block);
}

// Makes the slot of the oldest freed block available again. False: the quarantine is empty.
inline bool evict() noexcept {
  MappedBlock* block = pool.quarantine.pop();
  if (block == nullptr) return false;
  pool.quarantined_bytes -= block->slices * slice_bytes;
  if (block->has_own_mapping) pool.quarantined_mappings--;
  audit(pool);
  give_slot(*block);
  return true;
}

inline void keep_quarantine_in_bounds() noexcept {
  const size_t mappings_max = pool.settings.mappings / quarantine_mappings_part;
  while (pool.quarantined_bytes > pool.settings.quarantine_bytes ||
         pool.quarantined_mappings > mappings_max) {
    if (!evict()) return;
  }
}

// A placed slot without access; null: no addresses or no memory. When no other addresses are left,
// it reuses those of the quarantine early.
inline MappedBlock* find_slot(Held<SpaceLock>& held, const BlockRequest& request,
                              size_t page) noexcept TALUS_REQUIRES(space.lock()) {
  const size_t slot_bytes = slot_bytes_for(request, page);
  const bool is_small = slot_bytes == slice_bytes;
  for (int evictions = 0;; evictions++) {
    MappedBlock* block = is_small ? take_slot(held) : map_slot(held, request, page);
    if (block == nullptr) {
      const bool may_help = evictions < evictions_max && pool.quarantined_bytes >= slot_bytes;
      if (may_help && evict()) continue;
      return nullptr;
    }
    if (is_small) {
      const Place place = place_in(block->slot, slice_bytes, request, page, pool.settings.guard);
      block->start = place.start;
      block->pages = place.pages;
      block->page_bytes = place.page_bytes;
    }
    return block;
  }
}

}  // namespace talus::core::mapped

#endif  // TALUS_MODES_MAPPED_SLOTS_HPP
