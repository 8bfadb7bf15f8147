// SPDX-License-Identifier: MIT
// modes/guarded_report: what is wrong with a guarded block, in words and in its record.
//
// Owns: the event that `talus explain` reads, and the line of the handler of faults. Invariants: it
// allocates nothing. The first event stays. describe_fault() takes no lock, so a handler may call
// it. Called on: the thread that erred. Must not know: how blocks are made.
#ifndef TALUS_MODES_GUARDED_REPORT_HPP
#define TALUS_MODES_GUARDED_REPORT_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "os/text.hpp"
#include "unwind/stack_reader.hpp"
#include "modes/guarded_pool.hpp"

namespace talus::core::guarded {

// Notes where this thread is, unless an earlier event is noted.
TALUS_APART void note_event(EventKind kind, uintptr_t address) noexcept {
  Pool& pool = *guarded.pool;
  bool was_told = false;
  if (!pool.shared_is_told.cas_acq_rel(was_told, true)) return;
  unwind::StackBounds bounds{};
  pool.event.address = address;
  take_trace(pool.event.trace, bounds);
  pool.event.shared_kind.store_release(
      static_cast<uint32_t>(kind));  // last: a reader finds a whole event
}

inline bool is_free_call(const char* call) noexcept { return call[0] == 'f' && call[4] == '\0'; }

// A call with a pointer that is no live block of the pool.
[[noreturn]] TALUS_APART void refuse(const void* pointer, const char* call) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Slot* slot = slot_at(*guarded.pool, address);
  const bool is_freed = slot != nullptr && slot->state == State::freed && address == slot->start;
  if (is_freed && is_free_call(call)) {
    note_event(EventKind::double_free, address);
    report::double_free(pointer, slot->bytes);
  }
  note_event(is_freed ? EventKind::freed_use : EventKind::invalid_free, address);
  if (is_freed) report::freed_block(pointer, slot->bytes, call);
  const bool is_inside = slot != nullptr && slot->state == State::live && address > slot->start &&
                         address - slot->start < slot->bytes;
  if (!is_inside) report::foreign_pointer(pointer, call);
  report::interior_pointer(pointer, reinterpret_cast<void*>(slot->start), slot->bytes);
}

// The bytes beside a block changed.
[[noreturn]] TALUS_APART void refuse_damage(const Slot& slot, uintptr_t changed) noexcept {
  note_event(EventKind::damage, changed);
  void* const block = reinterpret_cast<void*>(slot.start);
  if (changed >= slot.start) report::write_behind(block, slot.bytes, SIZE_MAX, "free");
  report::stop(report::begin("write before block", block)
                   .put(" (")
                   .put_number(slot.bytes)
                   .put(" bytes; found by free())\n"));
}

// Bytes between an address and a block; 0: it lies in the block.
inline size_t distance_to(const Slot& slot, uintptr_t address) noexcept {
  if (address < slot.start) return slot.start - address;
  return address - slot.start < slot.bytes ? 0 : address - slot.start - slot.bytes + 1;
}
// The block that an access to a page without access most likely meant; null: none was near.
inline const Slot* slot_near(const Pool& pool, uintptr_t address) noexcept {
  if (!pool.has(address)) return nullptr;
  const size_t page = (address - pool.base) / pool.page_bytes;
  const Slot* nearest = nullptr;
  // of a page without access: the slots before and behind it
  const size_t low = page % 2 != 0 || page == 0 ? page / 2 : page / 2 - 1;
  for (size_t i = low; i <= page / 2 && i < slot_count; i++) {
    const Slot& slot = pool.slots[i];
    if (slot.state == State::unused) continue;
    if (nearest == nullptr || distance_to(slot, address) < distance_to(*nearest, address)) {
      nearest = &slot;
    }
  }
  return nearest;
}

template <typename Line>
void put_trace(Line& line, const char* did, const Trace& trace) noexcept {
  line.put(did).put_number(trace.thread).put(" at");
  for (size_t i = 0; i < trace.frame_count && i < Trace::frames_max; i++) {
    line.put(" ").put_hex(trace.frames[i]);
  }
}

// Notes the fault, and describes it in one line. Null: it is no guarded block's, or another thread
// has reported an event.
TALUS_APART const TextBuffer<4096>* describe_fault(uintptr_t address) noexcept {
  Pool* const pool = guarded.pool;
  const Slot* const slot = pool == nullptr ? nullptr : slot_near(*pool, address);
  if (slot == nullptr || pool->shared_is_told.load_acquire()) return nullptr;
  note_event(EventKind::fault, address);
  auto& line = pool->line;
  line.put("talus: fault at ").put_hex(address).put(", ");
  if (address < slot->start) {
    line.put_number(slot->start - address).put(" bytes before");
  } else if (address - slot->start < slot->bytes) {
    line.put_number(address - slot->start).put(" bytes into");
  } else {
    line.put_number(address - slot->start - slot->bytes).put(" bytes behind");
  }
  const bool is_freed = slot->state == State::freed;
  line.put(is_freed ? " the freed guarded block of " : " the live guarded block of ");
  line.put_number(slot->bytes).put(" bytes at ").put_hex(slot->start);
  put_trace(line, "; allocated by thread ", slot->made);
  if (is_freed) put_trace(line, "; freed by thread ", slot->freed);
  line.put("\n");
  return &line;
}

}  // namespace talus::core::guarded

#endif  // TALUS_MODES_GUARDED_REPORT_HPP
