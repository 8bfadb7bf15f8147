// SPDX-License-Identifier: MIT
// modes/reported: after a thread reports a fault, its blocks come from separate pages.
//
// The thread next runs the program's handler of SIGABRT, which may write a report, fork, and end
// the process. Locks that it held at the fault stay held, and the data under them may be
// inconsistent. So its blocks come from pages of their own, without a lock, and its frees do
// nothing. That is a mode, which makes all blocks and diverts all that are freed. It is alone in
// its chain: the fault may have been in another mode's data.
//
// Owns: these pages, as special blocks (heap/special.hpp). Invariants: it waits for no lock. The
// size of a block lies before it. Nothing is used twice, so each block reads as zero. Called on:
// the reporting thread; several threads may report. Must not know: which fault it was.
#ifndef TALUS_MODES_REPORTED_HPP
#define TALUS_MODES_REPORTED_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/special.hpp"

namespace talus::core::reported {

// The header of a range of pages. A larger request has a range of its own.
struct Chunk {
  static constexpr size_t usual_bytes = size_t{1} << 20;

  Atomic<size_t> used;
  size_t bytes = 0;
};
TALUS_CONSTINIT inline Atomic<Chunk*> shared_chunk;  // the newest; null: none yet

inline void keep(SpecialBlock&, void*) noexcept {}
inline size_t usable_bytes(SpecialBlock&, void* pointer, const char*) noexcept {
  return static_cast<size_t*>(pointer)[-1];
}
inline constexpr SpecialOperations block_operations = {keep, usable_bytes};
TALUS_CONSTINIT inline SpecialBlock every_block;

// Enters the slices in the page map. Its leaf nearly always exists. If not, another thread may be
// making it under a lock, and this thread must not wait for that lock.
inline bool make_known(uintptr_t start, size_t bytes) noexcept {
  SpaceLock& lock = space.lock();
  const bool is_locked = lock.try_lock();
  const bool is_covered = page_map.cover(start, bytes);
  if (is_locked) lock.unlock();
  every_block.shared_operations.store_init(&block_operations);  // all write the same
  if (is_covered) page_map.set_all(start, bytes / slice_bytes, special_word, &every_block);
  return is_covered;
}

inline Chunk* make_chunk(size_t bytes) noexcept {
  void* pages = os::map_aligned(nullptr, bytes, slice_bytes);
  if (pages == nullptr || !make_known(reinterpret_cast<uintptr_t>(pages), bytes)) return nullptr;
  auto* chunk = static_cast<Chunk*>(pages);  // zero is what it starts with
  chunk->used.store_init(sizeof(Chunk));
  chunk->bytes = bytes;
  return chunk;
}

// Null: the chunk is full.
inline void* take(Chunk& chunk, const BlockRequest& request) noexcept {
  const size_t size = sizeof(size_t) > block_alignment ? sizeof(size_t) : block_alignment;
  const size_t wanted = size + request.alignment + round_up(request.bytes, block_alignment);
  const size_t at = chunk.used.claim(wanted);
  if (at > chunk.bytes || wanted > chunk.bytes - at) return nullptr;
  const uintptr_t first = reinterpret_cast<uintptr_t>(&chunk) + at + size + request.offset;
  const uintptr_t block = round_up(first, request.alignment) - request.offset;
  auto* pointer = reinterpret_cast<size_t*>(block);
  pointer[-1] = request.bytes;
  return pointer;
}

inline void* allocate(ModeThread, const BlockRequest& request) noexcept {
  if (request.bytes > PTRDIFF_MAX - 4 * Chunk::usual_bytes) return nullptr;
  if (request.alignment > PTRDIFF_MAX / 4) return nullptr;
  Chunk* chunk = shared_chunk.load_acquire();
  if (chunk != nullptr) {
    if (void* block = take(*chunk, request)) return block;
  }
  const size_t most = sizeof(Chunk) + 2 * block_alignment + request.bytes + 2 * request.alignment;
  const bool is_usual = most <= Chunk::usual_bytes / 4;
  chunk = make_chunk(is_usual ? Chunk::usual_bytes : round_up(most, slice_bytes));
  if (chunk == nullptr) return nullptr;
  void* block = take(*chunk, request);
  if (is_usual) shared_chunk.store_release(chunk);
  return block;
}

// Each freed block stays where it is, mapped blocks and those of instances too.
inline bool stay(ModeThread, void*) noexcept { return true; }

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "reported";
  mode.allocate = allocate;
  mode.divert = stay;
  mode.diverts_all = true;
  return mode;
}
inline constexpr Mode mode = make_mode();
inline constexpr ModeChain chain{
    {Atomic<const Mode*>{&mode}}, Atomic<uint32_t>{1}, Atomic<uint32_t>{1}, Atomic<uint32_t>{1},
    Atomic<const Mode*>{nullptr}, Atomic<bool>{false}, Atomic<bool>{false}};
inline constexpr ContextOperations context_operations = {cache_of_mode_context, &chain};
TALUS_CONSTINIT inline ModeContext context;

// The calling thread has reported a fault.
TALUS_COLD void begin() noexcept {
  space.relax();
  purge_request.is_much.store_hint(false);  // no purge from here on
  begin_mode_context(context, nullptr, context.own_states, context_operations);
  set_context(context);
}

}  // namespace talus::core::reported

#endif  // TALUS_MODES_REPORTED_HPP
