// SPDX-License-Identifier: MIT
// modes/mapped: each block has pages of its own, beside a page without access.
//
// A block ends (or, as an option, begins) at a page without access, so an overrun faults at the
// culprit. A freed block loses its pages and keeps its addresses for a while, so a use after free
// faults too. Alignment may leave bytes free beside a block. They hold a pattern, which free
// checks.
//
// Owns: making and freeing such blocks, and the ids of threads. Invariants: a block that the mode
// cannot make is an ordinary one, and the program is told once. Threads with and without the mode
// free blocks of either kind. Called on: any thread, from slow paths. Must not know: signals
// (process/faults.hpp).
#ifndef TALUS_MODES_MAPPED_HPP
#define TALUS_MODES_MAPPED_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "os/text.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "modes/chain.hpp"
#include "modes/mapped_memory.hpp"
#include "modes/mapped_place.hpp"
#include "modes/mapped_report.hpp"
#include "modes/mapped_slots.hpp"
#include "modes/mapped_spare.hpp"

namespace talus::core::mapped {

inline constexpr unsigned char pattern = 0xb5;

// What a context has: the id of the thread that uses the cache; 0: not asked for yet.
using ThreadNumber = uint32_t;
inline uint32_t id_of(ModeThread thread) noexcept {
  if (thread.cache == nullptr) return os::System::thread_id();
  auto& id = *static_cast<ThreadNumber*>(thread.state);
  if (id == 0) id = os::System::thread_id();
  return id;
}
inline void forget_id(ModeThread thread) noexcept { *static_cast<ThreadNumber*>(thread.state) = 0; }

inline void free_mapped(SpecialBlock& special, void* pointer) noexcept;
inline size_t usable_bytes_of_mapped(SpecialBlock& special, void* pointer,
                                     const char* call) noexcept;
inline constexpr SpecialOperations block_operations = {free_mapped, usable_bytes_of_mapped};

TALUS_APART void warn_once(Held<SpaceLock>&) noexcept TALUS_REQUIRES(space.lock()) {
  if (pool.has_warned) return;
  pool.has_warned = true;
  Text text;
  text.put("talus: no more blocks, mappings or addresses for TALUS_MODE (")
      .put_number(special_pool.live_count)
      .put(" blocks, at most ")
      .put_number(pool.settings.blocks)
      .put("; ")
      .put_number(pool.mappings)
      .put(" mappings, at most ")
      .put_number(pool.mappings_max())
      .put("): until some are free, blocks are ordinary ones\n");
  os::System::write_error(text.data(), text.length());
}

// Gives access to the pages of a slot in which no block lives yet. False: the slot went back, and a
// limit or the kernel does not allow it. May unlock for a while.
inline bool begin_pages(Held<SpaceLock>& held, MappedBlock& block) noexcept
    TALUS_REQUIRES(space.lock()) {
  if (block.page_bytes == 0) return true;
  const bool is_allowed = take_beside(held, block.page_bytes);
  if (is_allowed && open_pages(block)) return true;
  if (is_allowed) give_beside(held, block.page_bytes);
  // No thread has seen this placement, so no report can name it.
  block.state = State::unused;
  give_slot(block);
  if (is_allowed) leave_mappings();
  return false;
}

// The space lock is held.
inline MappedBlock* make_block(Held<SpaceLock>& held, const BlockRequest& request, size_t page,
                               uint32_t thread) noexcept TALUS_REQUIRES(space.lock()) {
  if (special_pool.live_count >= pool.settings.blocks) return nullptr;
  const bool may_have_guards = pool.has_guards && slot_bytes_for(request, page) == slice_bytes;
  if (!has_mappings() && !may_have_guards) return nullptr;
  MappedBlock* block = find_slot(held, request, page);
  if (block == nullptr || !begin_pages(held, *block)) return nullptr;
  TALUS_ASSERT(space.lock().is_own() && block->state != State::live);
  TALUS_ASSERT(block->pages > block->slot);  // a page without access lies before it
  block->bytes = request.bytes;
  block->allocated_by = thread;
  block->freed_by = 0;
  block->state = State::live;
  special_pool.note_live(request.bytes);
  return block;
}

inline void fill(uintptr_t from, uintptr_t to) noexcept {
  if (from < to) fill_bytes(to_pointer(from), pattern, to - from);
}
inline bool is_changed(uintptr_t at) noexcept {
  return *reinterpret_cast<const unsigned char*>(at) != pattern;
}

struct [[gnu::packed, gnu::may_alias]] PatternWord {
  uint64_t bits;
};
inline uint64_t changed_bits(uintptr_t at) noexcept {
  return reinterpret_cast<const PatternWord*>(at)->bits ^ pattern * (~uint64_t{0} / 255);
}
inline bool is_word_whole(uintptr_t at) noexcept { return changed_bits(at) == 0; }
inline bool are_four_whole(uintptr_t at) noexcept {
  constexpr size_t word = sizeof(PatternWord);
  return (changed_bits(at) | changed_bits(at + word) | changed_bits(at + 2 * word) |
          changed_bits(at + 3 * word)) == 0;
}
// The first changed byte from here on, or the last one before; 0: the pattern is intact.
inline uintptr_t first_changed(uintptr_t at, uintptr_t end) noexcept {
  constexpr size_t word = sizeof(PatternWord);
  while (end - at >= 4 * word && are_four_whole(at)) at += 4 * word;
  while (end - at >= word && is_word_whole(at)) at += word;
  for (; at < end; at++) {
    if (is_changed(at)) return at;
  }
  return 0;
}
inline uintptr_t last_changed(uintptr_t first, uintptr_t at) noexcept {
  constexpr size_t word = sizeof(PatternWord);
  while (at - first >= word && is_word_whole(at - word)) at -= word;
  for (; at > first; at--) {
    if (is_changed(at - 1)) return at - 1;
  }
  return 0;
}
// The changed byte nearest to the block, first behind it, then before it; 0: the pattern is intact.
inline uintptr_t find_damage(const MappedBlock& block) noexcept {
  const uintptr_t behind = first_changed(block.end(), block.pages_end());
  return behind != 0 ? behind : last_changed(block.pages, block.start);
}

inline void* allocate_mapped(ModeThread thread, const BlockRequest& request) noexcept {
  if (!is_possible(request)) return nullptr;
  const size_t page = os::page_bytes();
  const uint32_t id = id_of(thread);
  MappedBlock* block = nullptr;
  {
    Held held{space.lock()};
    // A limit is no lack of what blocks are made from.
    if (!may_take_beside(held, round_up(request.bytes, page))) return nullptr;
    block = make_block(held, request, page, id);
    if (block == nullptr) {
      warn_once(held);
      return nullptr;
    }
  }
  fill(block->pages, block->start);
  fill(block->end(), block->pages_end());
  return to_pointer(block->start);
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "mapped";
  mode.state_bytes = sizeof(ThreadNumber);
  mode.allocate = allocate_mapped;
  mode.end_thread = forget_id;
  mode.renew_in_child = forget_id;  // the thread has another id there
  return mode;
}
inline constexpr Mode mode = make_mode();

// 0: the thread is not in the mode that makes such blocks, so its id is not asked for.
inline uint32_t this_thread() noexcept {
  ModeContext* context = current_modes();
  uint32_t id = 0;
  if (context == nullptr) return id;
  ask_modes<&Mode::allocate>(*context, [&id](const Mode& found, ModeThread thread) noexcept {
    if (&found == pool.maker) id = id_of(thread);
    return id != 0;
  });
  return id;
}

// Reports a pointer that is not the start of the block in this slot.
inline void prove_start(const MappedBlock& block, void* pointer, const char* call) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (address == block.start) return;
  if (address < block.start || address >= block.end()) report::foreign_pointer(pointer, call);
  report::interior_pointer(pointer, to_pointer(block.start), block.bytes);
}

inline void free_mapped(SpecialBlock& special, void* pointer) noexcept {
  auto& block = static_cast<MappedBlock&>(special);
  prove_start(block, pointer, "free");
  const uint32_t thread = this_thread();
  bool was_live = false;
  {
    Held held{space.lock()};
    was_live = block.state == State::live;
    if (was_live) {
      block.state = State::freed;
      block.freed_by = thread;
      special_pool.note_gone(block.bytes);
    }
  }
  if (!was_live) report_double_free(block);
  if (const uintptr_t changed = find_damage(block)) report_damage(block, changed, thread);
  Held held{space.lock()};
  // Pages that cannot be taken away stay unused.
  if (block.page_bytes != 0 && !close_pages(held, block)) return;
  pool.quarantine.push(block);
  pool.quarantined_bytes += block.slices * slice_bytes;
  if (block.has_own_mapping) pool.quarantined_mappings++;
  audit(pool);
  keep_quarantine_in_bounds();
}

// The end of the first bytes behind a live block, within its pages.
inline uintptr_t look_end(const MappedBlock& block, size_t bytes) noexcept {
  const size_t behind = block.pages_end() - block.end();
  return block.end() + (behind < bytes ? behind : bytes);
}
// Reports a write to one of these bytes.
inline void prove_pattern(const MappedBlock& block, size_t bytes) noexcept {
  const uintptr_t changed = first_changed(block.end(), look_end(block, bytes));
  if (changed != 0) report_damage(block, changed, this_thread());
}

inline size_t usable_bytes_of_mapped(SpecialBlock& special, void* pointer,
                                     const char* call) noexcept {
  const auto& block = static_cast<MappedBlock&>(special);
  prove_start(block, pointer, call);
  if (block.state != State::live) {
    const bool is_free = call[0] == 'f' && call[4] == '\0';  // another mode looks first
    is_free ? report_double_free(block) : report_freed(block, call);
  }
  return block.bytes;
}

// Blocks can be made from here on, by this mode, whose states begin with a ThreadNumber.
inline void prepare(const Settings& settings, const Mode& maker,
                    const SpecialOperations& operations) noexcept {
  pool.settings = settings;
  pool.maker = &maker;
  pool.operations = &operations;
  {
    Held held{space.lock()};
    pool.spare.make();
  }
  shared_exact_sizes.store_init(true);
}

// The calling thread and all threads that begin later are in this mode. Called once, before other
// threads begin.
inline void begin(const Settings& settings) noexcept {
  prepare(settings, mode, block_operations);
  begin_mode(mode);
}

// Describes an address that could not be accessed. False: nothing is known of it.
inline bool describe_fault(Line& line, uintptr_t address) noexcept {
  return describe_fault(line, address, block_operations);
}

}  // namespace talus::core::mapped

#endif  // TALUS_MODES_MAPPED_HPP
