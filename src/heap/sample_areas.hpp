// SPDX-License-Identifier: MIT
// heap/sample_areas: ranges of address space that many sampled blocks share.
//
//   area   | block | block | . . | block | . . . . |     in units of 512 bytes, first fit
//
// The slices of an area carry special_word, so that each free of a block there takes the slow path
// and other blocks of its size do not. A slice for each sampled block would cost 64 KiB a sample
// where huge pages make all of it resident: up to an eighth of the heap (docs/decisions/0039).
//
// Owns: the areas, and which blocks live in them. Invariants: a block lies in one area, and its
// usable size is that of its class, as in a slab. An area without blocks goes back to address
// space; the last small one may stay. A block that is freed leaves its mark, so that a second free
// is told from a pointer into a block. A page that is known to have no contents is free: it was
// purged (reclaim/sample_areas.hpp), or never used. Pages that are being purged count as used.
// Called on: any thread, from slow paths; all is under the space lock.
// Must not know: which blocks are sampled.
#ifndef TALUS_HEAP_SAMPLE_AREAS_HPP
#define TALUS_HEAP_SAMPLE_AREAS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/special.hpp"

namespace talus::core::sample_areas {

inline constexpr size_t unit_bytes = 512;
inline constexpr size_t area_slices_min = 4, area_slices_max = 16;
inline constexpr size_t area_units_max = area_slices_max * slice_bytes / unit_bytes;
inline constexpr size_t area_pages_max = area_slices_max * slice_bytes / page_bytes_min;
// How many areas with room one request looks at.
inline constexpr size_t looks_max = 16;
static_assert(area_slices_min * slice_bytes >= medium_bytes_max, "each area has room for a block");
static_assert(unit_bytes % block_alignment == 0 && slice_bytes % unit_bytes == 0);

// What starts at a unit: nothing, a block of this class, or one that was freed since.
class UnitMark {
 public:
  static constexpr uint8_t freed_bit = 128;
  constexpr UnitMark() noexcept = default;
  static constexpr UnitMark live(ClassId id) noexcept {
    return UnitMark{static_cast<uint8_t>(index_of(id) + 1)};
  }
  constexpr UnitMark freed() const noexcept {
    return UnitMark{static_cast<uint8_t>(bits_ | freed_bit)};
  }
  constexpr bool is_live() const noexcept { return bits_ != 0 && bits_ < freed_bit; }
  constexpr bool is_freed() const noexcept { return bits_ > freed_bit; }
  constexpr size_t block_bytes() const noexcept {
    return size_class_table.rows[(bits_ & (freed_bit - 1)) - 1].block_bytes;
  }

 private:
  explicit constexpr UnitMark(uint8_t bits) noexcept : bits_{bits} {}
  uint8_t bits_ = 0;
};
static_assert(fixed_class_count < UnitMark::freed_bit - 1, "a mark has a bit beside the class");

struct Area : SpecialBlock {
  uintptr_t base;         // 0: unused
  size_t slices;          // both constant while the area is in use
  size_t used_units;      // with blocks, or being purged: those taken
  size_t lowest_free;     // no unit below is free
  size_t empty_pages;     // without contents
  Area *next, *previous;  // of those with room, or of unused ones
  Area* made_before;      // constant
  bool is_listed;         // among those with room
  bool may_give;          // units came free since its pages were last gone through
  uint64_t taken[area_units_max / 64];
  uint64_t empty[area_pages_max / 64];  // a bit for each page: it has no contents
  UnitMark marks[area_units_max];

  size_t units() const noexcept { return slices * (slice_bytes / unit_bytes); }
  BitRow taken_row() noexcept { return BitRow{taken}; }
  BitRow empty_row() noexcept { return BitRow{empty}; }
  // Does no block, and no purge, have units of the page that begins at this unit?
  bool is_free_page(size_t unit) noexcept {
    const size_t end = unit + os::page_bytes() / unit_bytes;
    return taken_row().next(unit, end, true) == end;
  }
  // Bits tell as much as counts do, and a page without contents is free.
  bool is_sound() noexcept;
  // The unit at which the address lies; units(): it is no start of one, or lies elsewhere.
  size_t unit_at(uintptr_t address) const noexcept {
    const uintptr_t from = address - base;
    return from < slices * slice_bytes && from % unit_bytes == 0 ? from / unit_bytes : units();
  }
};

struct Areas {
  Area* with_room = nullptr;
  Area* unused = nullptr;
  Area* newest = nullptr;             // of all that were ever made; they never go
  size_t slices = 0, used_units = 0;  // of all areas in use
  size_t empty_bytes = 0;             // of these: pages without contents
  LowMark free_mark;                  // of free_touched_bytes()
  bool may_give = false;              // as an area's, of any
  SpecialOperations operations;       // filled before the first area

  size_t free_touched_bytes() const noexcept {
    const size_t free = slices * slice_bytes - used_units * unit_bytes;
    TALUS_ASSERT(free >= empty_bytes);
    return free - empty_bytes;
  }
};
TALUS_CONSTINIT inline Areas areas;

inline bool Area::is_sound() noexcept {
  size_t taken_count = 0, empty_count = 0;
  for (const uint64_t word : taken) taken_count += count_bits(word);
  for (const uint64_t word : empty) empty_count += count_bits(word);
  if (taken_count != used_units || empty_count != empty_pages) return false;
  const size_t page_units = os::page_bytes() / unit_bytes;
  for (size_t unit = 0; unit < units(); unit += page_units) {
    if (empty_row().has(unit / page_units) && !is_free_page(unit)) return false;
  }
  return true;
}

// --- the list of areas with room

inline void list(Held<SpaceLock>&, Area& area) noexcept {
  TALUS_ASSERT(!area.is_listed);
  area.previous = nullptr;
  area.next = areas.with_room;
  if (area.next != nullptr) area.next->previous = &area;
  areas.with_room = &area;
  area.is_listed = true;
}
inline void unlist(Held<SpaceLock>&, Area& area) noexcept {
  TALUS_ASSERT(area.is_listed);
  (area.previous != nullptr ? area.previous->next : areas.with_room) = area.next;
  if (area.next != nullptr) area.next->previous = area.previous;
  area.is_listed = false;
}

// --- pages without contents

// The pages from one unit to another, both at ends of pages, have no contents.
inline void note_empty(Area& area, size_t from, size_t end) noexcept {
  const size_t page_units = os::page_bytes() / unit_bytes;
  TALUS_ASSERT(from % page_units == 0 && end % page_units == 0);
  area.empty_row().set(from / page_units, end / page_units, true);
  area.empty_pages += (end - from) / page_units;
  areas.empty_bytes += (end - from) * unit_bytes;
}
// The units get a block.
inline void forget_empty(Area& area, size_t from, size_t end) noexcept {
  const size_t page_units = os::page_bytes() / unit_bytes;
  const size_t end_page = divide_up(end, page_units);
  BitRow empty = area.empty_row();
  for (size_t page = from / page_units; page < end_page; page++) {
    if (!empty.has(page)) continue;
    empty.set(page, page + 1, false);
    area.empty_pages--;
    areas.empty_bytes -= os::page_bytes();
  }
}
// The kernel may have made pages of a huge page resident that nothing wrote to.
inline bool is_in_huge_pages(Held<SpaceLock>& held, const Area& area) noexcept
    TALUS_REQUIRES(space.lock()) {
  return space.is_huge(held, area.base) ||
         space.is_huge(held, area.base + area.slices * slice_bytes - 1);
}

// --- areas come and go

// As many slices as half of all areas have, so that a process with few samples pays for few.
inline size_t slices_of_next() noexcept {
  const size_t slices = areas.slices / 2;
  if (slices < area_slices_min) return area_slices_min;
  return slices < area_slices_max ? slices : area_slices_max;
}
// An area without blocks; null: no memory. May unlock for a while.
TALUS_APART Area* open_area(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(space.lock()) {
  if (areas.unused == nullptr) {
    auto* const made = static_cast<Area*>(space.take_metadata(held, sizeof(Area)));  // zeroed
    if (made == nullptr) return nullptr;
    made->shared_operations.store_release(&areas.operations);
    made->made_before = areas.newest;
    areas.newest = made;
    made->next = areas.unused;
    areas.unused = made;
  }
  const size_t slices = slices_of_next();
  Area* const area = areas.unused;
  areas.unused = area->next;
  const Range range = space.take(held, slices);
  if (range.base == 0) {
    area->next = areas.unused;
    areas.unused = area;
    return nullptr;
  }
  area->base = range.base;
  area->slices = slices;
  area->used_units = area->lowest_free = 0;
  for (UnitMark& mark : area->marks) mark = UnitMark{};
  areas.slices += slices;
  TALUS_ASSERT(area->empty_pages == 0);
  area->may_give = true;
  if (range.zeroed == Zeroed::yes && !is_in_huge_pages(held, *area)) {
    note_empty(*area, 0, area->units());
  } else {
    areas.may_give = true;
  }
  special_pool.area_bytes += slices * slice_bytes;
  page_map.set_all(range.base, slices, special_word, static_cast<SpecialBlock*>(area));
  list(held, *area);
  return area;
}
TALUS_APART void close_area(Held<SpaceLock>& held, Area& area) noexcept
    TALUS_REQUIRES(space.lock()) {
  TALUS_ASSERT(area.used_units == 0);
  const uintptr_t base = area.base;
  const size_t slices = area.slices;
  unlist(held, area);
  forget_empty(area, 0, area.units());
  areas.slices -= slices;
  areas.free_mark.note(areas.free_touched_bytes());
  special_pool.area_bytes -= slices * slice_bytes;
  area.base = area.slices = 0;
  area.next = areas.unused;
  areas.unused = &area;
  page_map.set_all(base, slices, PageEntry{}, nullptr);
  space.give(held, base, slices, true);
}
// An empty area stays if it is small and the others have no room: the next sample may come soon.
inline bool may_stay(const Area& area) noexcept {
  const size_t others = areas.slices * (slice_bytes / unit_bytes) - area.units();
  return area.slices == area_slices_min && others - areas.used_units < area.units() / 2;
}

// --- units

// A block or a purge has these units from here on.
inline void hold_units(Held<SpaceLock>& held, Area& area, size_t at, size_t count) noexcept {
  area.taken_row().set(at, at + count, true);
  area.used_units += count;
  areas.used_units += count;
  TALUS_ASSERT(area.used_units <= area.units());
  TALUS_AUDIT_SOUND(area);
  if (area.is_listed && area.units() - area.used_units < area.units() / 8) unlist(held, area);
}
// They are free again. Closes an area without blocks.
inline void return_units(Held<SpaceLock>& held, Area& area, size_t at, size_t count) noexcept
    TALUS_REQUIRES(space.lock()) {
  TALUS_ASSERT(area.used_units >= count && areas.used_units >= count);
  area.taken_row().set(at, at + count, false);
  if (at < area.lowest_free) area.lowest_free = at;
  area.used_units -= count;
  areas.used_units -= count;
  const bool has_room = area.units() - area.used_units >= area.units() / 4;
  if (has_room && !area.is_listed) list(held, area);
  TALUS_AUDIT_SOUND(area);
  if (area.used_units == 0 && !may_stay(area)) close_area(held, area);
}

// --- blocks

// Where this number of free units lies, the first at a multiple of `step`; units(): nowhere.
inline size_t find_units(Area& area, size_t count, size_t step) noexcept {
  const BitRow taken = area.taken_row();
  const size_t end = area.units();
  area.lowest_free = taken.next(area.lowest_free, end, false);
  size_t at = round_up(area.lowest_free, step);
  while (at + count <= end) {
    const size_t free_end = taken.next(at, at + count, true);
    if (free_end == at + count) return at;
    at = round_up(taken.next(free_end, end, false), step);
  }
  return end;
}
// Takes units of an area for a block; null: they are not free there.
inline void* take_units(Held<SpaceLock>& held, Area& area, ClassId id, size_t count,
                        size_t step) noexcept {
  const size_t at = find_units(area, count, step);
  if (at == area.units()) return nullptr;
  forget_empty(area, at, at + count);
  area.marks[at] = UnitMark::live(id);
  hold_units(held, area, at, count);
  areas.free_mark.note(areas.free_touched_bytes());
  return reinterpret_cast<void*>(area.base + at * unit_bytes);
}

// A block of the class at a multiple of `alignment`; null: no memory. Its bytes may be anything.
TALUS_APART void* allocate(ClassId id, size_t alignment) noexcept {
  const size_t block_bytes = size_class_row(id).block_bytes;
  const size_t count = divide_up(block_bytes, unit_bytes);
  const size_t step = alignment > unit_bytes ? alignment / unit_bytes : 1;
  TALUS_ASSERT(is_power_of_two(alignment) && alignment <= slice_bytes);
  Held held{space.lock()};
  void* block = nullptr;
  Area* area = areas.with_room;
  for (size_t looks = 0; area != nullptr && block == nullptr && looks < looks_max; looks++) {
    Area* const next = area->next;
    block = take_units(held, *area, id, count, step);
    area = next;
  }
  if (block == nullptr) {
    area = open_area(held);
    if (area == nullptr) return nullptr;
    block = take_units(held, *area, id, count, step);
  }
  special_pool.note_live(block_bytes);
  special_pool.in_space_bytes += block_bytes;
  special_pool.in_space_count++;
  return block;
}

// The live block in whose units the address lies, if it is no start of a block; null: none.
inline void refuse_inside(const Area& area, const void* pointer) noexcept {
  const uintptr_t from = reinterpret_cast<uintptr_t>(pointer) - area.base;
  if (from >= area.slices * slice_bytes) return;
  size_t unit = from / unit_bytes;
  while (unit != 0 && !area.marks[unit].is_live()) unit--;
  const UnitMark mark = area.marks[unit];
  if (!mark.is_live() || from - unit * unit_bytes >= mark.block_bytes()) return;
  report::interior_pointer(pointer, reinterpret_cast<void*>(area.base + unit * unit_bytes),
                           mark.block_bytes());
}
// The unit at which a live block starts. Reports anything else.
TALUS_APART size_t prove(const Area& area, const void* pointer, const char* call) noexcept {
  const size_t unit = area.unit_at(reinterpret_cast<uintptr_t>(pointer));
  const UnitMark mark = unit < area.units() ? area.marks[unit] : UnitMark{};
  if (TALUS_LIKELY(mark.is_live())) return unit;
  if (mark.is_freed() && call[0] == 'f') report::double_free(pointer, mark.block_bytes());
  if (mark.is_freed()) report::freed_block(pointer, mark.block_bytes(), call);
  refuse_inside(area, pointer);
  report::foreign_pointer(pointer, call);
}

TALUS_APART void free_in_area(SpecialBlock& special, void* pointer) noexcept {
  auto& area = static_cast<Area&>(special);
  Held held{space.lock()};
  const size_t unit = prove(area, pointer, "free");
  UnitMark& mark = area.marks[unit];
  const size_t block_bytes = mark.block_bytes();
  const size_t count = divide_up(block_bytes, unit_bytes);
  mark = mark.freed();
  area.may_give = areas.may_give = true;
  special_pool.in_space_bytes -= block_bytes;
  special_pool.in_space_count--;
  special_pool.note_gone(block_bytes);
  return_units(held, area, unit, count);
}
TALUS_APART size_t usable_bytes_in_area(SpecialBlock& special, void* pointer,
                                        const char* call) noexcept {
  const auto& area = static_cast<Area&>(special);
  return area.marks[prove(area, pointer, call)].block_bytes();
}

// Filled here, so that the loader writes no addresses where there is no profile.
TALUS_APART void prepare() noexcept {
  areas.operations.free = free_in_area;
  areas.operations.usable_bytes = usable_bytes_in_area;
  areas.operations.are_sizes_of_classes = true;
}

}  // namespace talus::core::sample_areas

#endif  // TALUS_HEAP_SAMPLE_AREAS_HPP
