// SPDX-License-Identifier: MIT
// modes/fill: a chosen byte in each new block, and another in each freed one.
//
// A program that reads memory which it never wrote, or that it freed, then reads the same bytes in
// each run. The bytes behind the requested size are filled too, to the end of the block.
//
// Owns: what is written when. Invariants: no byte that the program may still read changes. calloc
// reads zero, and a resize keeps what it keeps. Bytes behind the requested size hold the byte of
// new blocks, so a block that grows in place has it there. Called on: any thread, from slow paths.
#ifndef TALUS_MODES_FILL_HPP
#define TALUS_MODES_FILL_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/bytes.hpp"
#include "heap/modes.hpp"
#include "paths/facts.hpp"
#include "modes/chain.hpp"

namespace talus::core::fill {

// Fills a block from this byte of it on.
inline void fill_rest(FillByte with, void* block, size_t from, const char* call) noexcept {
  if (!with.is_on) return;
  const size_t usable = facts_of(block, call).usable_bytes;
  if (from < usable) fill_bytes(static_cast<char*>(block) + from, with.byte, usable - from);
}

inline void fill_new(ModeThread, void* block, size_t) noexcept {
  fill_rest(options.fill.on_allocate, block, 0, "malloc");
}
inline void fill_behind(ModeThread, void* block, size_t bytes) noexcept {
  fill_rest(options.fill.on_allocate, block, bytes, "calloc");
}
inline void fill_freed(ModeThread, void* block) noexcept {
  fill_rest(options.fill.on_free, block, 0, "free");
}
inline void fill_cut(ModeThread, void* at, size_t bytes) noexcept {
  if (options.fill.on_free.is_on) fill_bytes(at, options.fill.on_free.byte, bytes);
}
// The block keeps the bytes that it had, as far as the program wants them.
inline void fill_grown(ModeThread, void*, size_t usable, void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  fill_rest(options.fill.on_allocate, block, usable < bytes ? usable : bytes, "realloc");
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "fill";
  mode.note_allocate = fill_new;
  mode.note_zeroed = fill_behind;
  mode.note_free = fill_freed;
  mode.note_cut = fill_cut;
  mode.end_resize = fill_grown;
  return mode;
}
inline constexpr Mode mode = make_mode();

// The calling thread and all threads that begin later are in this mode, if anything is to be
// filled. Called once, before other threads begin.
inline void begin(const FillChoice& choice) noexcept {
  options.fill = choice;
  if (choice.on_allocate.is_on || choice.on_free.is_on) begin_mode(mode);
}

}  // namespace talus::core::fill

#endif  // TALUS_MODES_FILL_HPP
