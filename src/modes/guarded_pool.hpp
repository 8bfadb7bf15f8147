// SPDX-License-Identifier: MIT
// modes/guarded_pool: pages for guarded blocks, and what is known of each block.
//
//   . . | block, pattern | . . | pattern, block | . . | freed: . . . | . .     . no access
//         at the start           at the end
//
// A block has one page of a slot, and pages without access lie on both sides. The page of a freed
// block goes, and its slot serves again after all others. Until then its record stays.
//
// Owns: the slots, their records, and what the process last found wrong. Invariants: a slot is with
// the program or in the queue, unless its page could not be taken away. Only live blocks have pages
// with access, at most live_max of them. Called on: any thread; changes under the space lock. Must
// not know: which blocks are guarded.
#ifndef TALUS_MODES_GUARDED_POOL_HPP
#define TALUS_MODES_GUARDED_POOL_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "os/text.hpp"
#include "sync/ranked_lock.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/unwinder.hpp"
#include "space/space.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "modes/mapped_memory.hpp"

namespace talus::core::guarded {

// Where a thread was, and when.
struct Trace {
  static constexpr size_t frames_max = 28;

  uint64_t at_ns;
  uint32_t thread;  // its id
  uint32_t frame_count;
  uintptr_t frames[frames_max];  // return addresses, the innermost first
};

enum class State : uint8_t { unused, live, freed };

// The records of a freed block stay until the slot serves again.
struct Slot {
  uintptr_t start;
  size_t bytes;   // as requested
  uint32_t next;  // in the queue; one more than its index; 0: the last
  State state;
  Trace made, freed;
};

// What the process itself found wrong. A fault is noted by the handler only.
enum class EventKind : uint32_t { none, fault, double_free, invalid_free, freed_use, damage };
struct Event {
  Atomic<uint32_t> shared_kind;  // an EventKind
  uintptr_t address;
  Trace trace;
};

inline constexpr size_t slot_count = 256;
// Memory of blocks. With records and rules for walks it stays within 512 KiB.
inline constexpr size_t live_bytes_max = 128 * kib;
inline constexpr size_t rules_max = 8192;  // 128 KiB

// All zero at first.
struct Pool : SpecialBlock {
  uintptr_t base;        // of the first page without access
  size_t page_bytes;     // constant, as is the base
  uint32_t first, last;  // of the queue; one more than an index; 0: none
  Atomic<uint32_t> shared_live;
  Atomic<uint64_t> shared_made, shared_missed;  // guarded blocks, and those that found no room
  Atomic<bool> shared_is_told;                  // an event was noted; no other is
  Event event;
  TextBuffer<4096> line;  // of the handler of faults
  Slot slots[slot_count];

  size_t live_max() const noexcept {
    return page_bytes < live_bytes_max ? live_bytes_max / page_bytes : 1;
  }
  uintptr_t page_of(size_t index) const noexcept { return base + (2 * index + 1) * page_bytes; }
  uintptr_t end() const noexcept { return page_of(slot_count); }
  bool has(uintptr_t address) const noexcept { return address >= base && address < end(); }

  void push(uint32_t index) noexcept {
    slots[index].next = 0;
    (first == 0 ? first : slots[last - 1].next) = index + 1;
    last = index + 1;
  }
  // The queue is never empty while less than live_max blocks live.
  uint32_t pop() noexcept {
    TALUS_ASSERT(first != 0);
    const uint32_t index = first - 1;
    first = slots[index].next;
    return index;
  }
};

struct Guarded {
  uint64_t mean_bytes = 0;               // between guarded blocks
  Pool* pool = nullptr;                  // constant from begin() on; null: there are none
  unwind::Unwinder* unwinder = nullptr;  // likewise
  unwind::Unwinder own_unwinder;
  Mode mode;                     // likewise, and so are the operations
  SpecialOperations operations;  // of all blocks
};
TALUS_CONSTINIT inline Guarded guarded;

constexpr size_t region_bytes_for(size_t page_bytes) noexcept {
  return round_up((2 * slot_count + 1) * page_bytes, slice_bytes);
}

// Reserves the addresses. False: there are none, or no memory.
TALUS_APART bool make_pool() noexcept {
  void* memory = os::map_pages(nullptr, round_up(sizeof(Pool), os::page_bytes()));
  if (memory == nullptr) return false;
  auto* pool = static_cast<Pool*>(memory);  // all zero, which is its first state
  const size_t page = os::page_bytes(), bytes = region_bytes_for(page);
  Held held{space.lock()};
  void* reserved = os::reserve_aligned(bytes, slice_bytes);
  if (reserved == nullptr) return false;
  pool->base = reinterpret_cast<uintptr_t>(reserved);
  pool->page_bytes = page;
  pool->shared_operations.store_release(&guarded.operations);
  for (uint32_t i = 0; i < slot_count; i++) pool->push(i);
  if (!page_map.cover(pool->base, bytes)) return false;
  page_map.set_all(pool->base, bytes / slice_bytes, special_word, static_cast<SpecialBlock*>(pool));
  guarded.pool = pool;
  return true;
}

TALUS_APART void take_trace(Trace& trace, unwind::StackBounds& bounds) noexcept {
  trace.at_ns = os::System::now_ns();
  trace.thread = os::System::thread_id();
  const unwind::Walk walk = guarded.unwinder->walk(bounds, trace.frames, Trace::frames_max);
  trace.frame_count = static_cast<uint32_t>(walk.frames);
}

// The slot to whose page an address belongs; null: to none.
inline Slot* slot_at(Pool& pool, uintptr_t address) noexcept {
  if (!pool.has(address)) return nullptr;
  const size_t page = (address - pool.base) / pool.page_bytes;
  return page % 2 != 0 ? &pool.slots[page / 2] : nullptr;
}

// A page for a block, which no thread has yet; null: there is no room, or a limit.
TALUS_APART Slot* open_slot(Pool& pool) noexcept {
  Held held{space.lock()};
  const size_t live_count = pool.shared_live.load_own();
  if (live_count >= pool.live_max() || !mapped::may_take_beside(held, pool.page_bytes)) {
    return nullptr;
  }
  const uint32_t index = pool.pop();
  pool.shared_live.own_add(1);
  // May unlock for a while.
  const bool is_allowed = mapped::take_beside(held, pool.page_bytes);
  void* const page = reinterpret_cast<void*>(pool.page_of(index));
  if (is_allowed && os::System::allow(page, pool.page_bytes)) return &pool.slots[index];
  if (is_allowed) mapped::give_beside(held, pool.page_bytes);
  pool.shared_live.store_own(pool.shared_live.load_own() - 1);
  pool.push(index);
  return nullptr;
}
// The program has the block from here on.
TALUS_APART void begin_block(Slot& slot, uintptr_t start, size_t bytes,
                             const Trace& trace) noexcept {
  Held held{space.lock()};
  TALUS_ASSERT(slot.state != State::live);
  slot.start = start;
  slot.bytes = bytes;
  slot.made = trace;
  slot.freed.frame_count = 0;
  slot.state = State::live;
  guarded.pool->shared_made.own_add(1);
  special_pool.note_live(bytes);
}
// The program loses the block that starts there. False: it does not have it.
TALUS_APART bool end_block(Slot& slot, uintptr_t start, const Trace& trace) noexcept {
  Held held{space.lock()};
  if (slot.state != State::live || slot.start != start) return false;
  slot.state = State::freed;
  slot.freed = trace;
  special_pool.note_gone(slot.bytes);
  return true;
}
// Its page goes, and the slot waits for its turn. A page that cannot go stays, and its slot unused.
TALUS_APART void close_slot(Pool& pool, Slot& slot) noexcept {
  const auto index = static_cast<uint32_t>(&slot - pool.slots);
  Held held{space.lock()};
  TALUS_ASSERT(slot.state == State::freed);
  void* const page = reinterpret_cast<void*>(pool.page_of(index));
  if (!os::System::decommit(page, pool.page_bytes)) return;
  mapped::give_beside(held, pool.page_bytes);
  pool.shared_live.store_own(pool.shared_live.load_own() - 1);
  pool.push(index);
}

}  // namespace talus::core::guarded

#endif  // TALUS_MODES_GUARDED_POOL_HPP
