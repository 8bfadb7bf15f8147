// SPDX-License-Identifier: MIT
// threads/helper_thread: the background thread as a thread: its memory, its start and its end.
//
//   room | zeros | ThreadBlock, zeros | guard | stack ... | HelperLife |
//
// Each copy of Talus in a process has its own helper, and a room only after its first start. Copies
// do not know each other, may differ in version, and may be unloaded at any time. Most free little.
//
// Owns: the room, one mapping that each helper of this process uses in turn. Invariants: the room
// reads as zero in each child, so no child believes in a helper that it does not have. The helper
// binds no function of libc late, because its ender may hold the loader's lock. Called on: the
// thread that starts or ends the helper, under its lock. Must not know: what the helper does.
#ifndef TALUS_THREADS_HELPER_THREAD_HPP
#define TALUS_THREADS_HELPER_THREAD_HPP

#include <pthread.h>

#include "base/base.hpp"
#include "arch/clone.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "machine/kernel_file.hpp"

namespace talus::core {

// What the process knows of the helper. Zero: it is absent.
struct alignas(cache_line_bytes) HelperLife {
  Atomic<uint32_t> shared_state;  // helper.hpp
  Atomic<uint32_t> shared_id;     // of its thread; the kernel clears it when the thread is gone
  Atomic<uint32_t> last_id;       // the same, until the kernel no longer counts the thread
  Atomic<bool> is_joinable;       // a thread of the C library waits to be joined
  // The process that owns this memory, as far as known. A copy of the process has zero here
  // (clear_in_children). The child of a vfork shares memory and sees its parent's id.
  Atomic<uint32_t> process_id;
  bool kernel_is_open;  // constant for a helper: it may name itself, for example
};

inline constexpr size_t helper_stack_bytes = 40 * kib;

struct RoomLayout {
  size_t block_at, guard_at, guard_bytes, bytes;

  static RoomLayout find() noexcept {
    const size_t page = os::page_bytes();
    const size_t reach = round_up(arch::ThreadBlock::reach, page);
    return {reach, 2 * reach, page, 2 * reach + page + round_up(helper_stack_bytes, page)};
  }
  char* base_of(HelperLife& life) const noexcept {
    return reinterpret_cast<char*>(&life + 1) - bytes;
  }
};

// Null: no memory.
inline HelperLife* make_room() noexcept {
  const RoomLayout layout = RoomLayout::find();
  char* base = static_cast<char*>(os::map_pages(nullptr, layout.bytes));
  if (base == nullptr) return nullptr;
  // Each call may be refused. after_fork_in_child clears as well, and a guard only shows faults.
  os::System::clear_in_children(base, layout.bytes);
  os::System::protect(base + layout.guard_at, layout.guard_bytes);
  return reinterpret_cast<HelperLife*>(base + layout.bytes) - 1;
}

// After the last helper the room costs only addresses, and reads as absent. It stays mapped because
// other threads may still read it.
TALUS_USUAL void empty_room(HelperLife& life) noexcept {
  const RoomLayout layout = RoomLayout::find();
  char* stack = layout.base_of(life) + layout.guard_at + layout.guard_bytes;
  os::System::purge(layout.base_of(life), layout.guard_at);
  os::System::purge(stack, layout.bytes - layout.guard_at - layout.guard_bytes);
}

// Binds the functions that the helper calls, so that the loader looks none up on its thread. The
// list includes all to which the compiler makes calls by itself.
inline void bind_functions(void* at) noexcept {
  volatile size_t none = 0;
  copy_bytes(at, at, none);
  clear_bytes(at, none);
  __builtin_memmove(at, at, none);
  const char* volatile text = "";
  none = __builtin_strlen(text);
  os::System::now_ms();
}

// All that the helper does (helper.hpp).
inline void helper_lives() noexcept;

#if TALUS_RAW_THREADS
[[noreturn]] TALUS_USUAL void helper_enters() noexcept {
  helper_lives();
  os::System::end_thread();
}
// False: the kernel refused.
inline bool make_helper(HelperLife& life) noexcept {
  const RoomLayout layout = RoomLayout::find();
  bind_functions(&life);
  auto& block = *reinterpret_cast<arch::ThreadBlock*>(layout.base_of(life) + layout.block_at);
  arch::prepare_thread_block(block);
  uint32_t* id = life.shared_id.futex_word();
  const long made = os::System::make_thread(&life, block, id, helper_enters);
  if (made <= 0) return false;
  life.last_id.store_own(static_cast<uint32_t>(made));  // under the lock
  return true;
}
inline void join_helper(HelperLife&) noexcept {}
#else
TALUS_CONSTINIT inline pthread_t helper_handle;

TALUS_USUAL void* helper_enters(void* life) noexcept {
  helper_lives();
  static_cast<HelperLife*>(life)->shared_id.store_release(0);
  return nullptr;
}
inline void join_helper(HelperLife& life) noexcept {
  if (life.is_joinable.load_own()) pthread_join(helper_handle, nullptr);  // under the lock
  life.is_joinable.store_own(false);
}
inline bool make_helper(HelperLife& life) noexcept {
  join_helper(life);
  life.shared_id.store_init(1);
  const bool is_made = pthread_create(&helper_handle, nullptr, helper_enters, &life) == 0;
  if (!is_made) life.shared_id.store_init(0);
  life.is_joinable.store_own(is_made);
  return is_made;
}
#endif

// Waits until the thread is gone. False: it still exists after this time.
inline bool wait_for_end(HelperLife& life, uint64_t patience_ms) noexcept {
  const uint64_t until_ms = os::System::now_ms() + patience_ms;
  // [E3] sees the last of what the helper wrote
  while (const uint32_t id = life.shared_id.load_acquire()) {
    if (os::System::now_ms() > until_ms) return false;
    os::System::wait_for_thread(life.shared_id.futex_word(), id);
  }
  join_helper(life);
  return true;
}

// True when no filter of system calls is active. Reads a file, which a filter set up since the
// start may forbid. Filters that were active before the start let the loader read files.
TALUS_USUAL bool is_kernel_open() noexcept {
  FileLines lines{"/proc/self/status"};
  TextPart line;
  while (lines.next(line)) {
    if (line.is("Seccomp:\t0")) return true;
  }
  return false;
}

}  // namespace talus::core

#endif  // TALUS_THREADS_HELPER_THREAD_HPP
