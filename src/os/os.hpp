// SPDX-License-Identifier: MIT
// os: the face of floor 3. Adds to the operating system (os/system.hpp) what holds for each.
//
// Owns: the page size, read once, and the end of the process after a fault. Invariant: an address
// above the page map's reach is refused here, so no floor above ever sees one. Called on: any
// thread, before libc is ready.
#ifndef TALUS_OS_OS_HPP
#define TALUS_OS_OS_HPP

#include <stdlib.h>

#include "base/base.hpp"
#include "os/own_object.hpp"
#include "os/page_watch.hpp"
#include "os/rare_calls.hpp"
#include "os/report.hpp"
#include "os/reporting_thread.hpp"
#include "os/system.hpp"
#include "os/text.hpp"

namespace talus::core::os {

static_assert(System::is_complete, "os: System in os/system.hpp is not made by os::Complete");

TALUS_CONSTINIT inline Atomic<size_t> shared_page_bytes;

// The kernel's page size: 4, 16 or 64 KiB, never more than a slice.
TALUS_USUAL size_t page_bytes() noexcept {
  size_t bytes = shared_page_bytes.load_init();  // every thread computes the same value
  if (TALUS_UNLIKELY(bytes == 0)) {
    bytes = System::page_bytes();
    TALUS_CHECK(is_power_of_two(bytes) && bytes <= slice_bytes);
    shared_page_bytes.store_init(bytes);
  }
  return bytes;
}
// The same without asking the kernel; 0: not known yet.
TALUS_FAST size_t page_bytes_if_known() noexcept { return shared_page_bytes.load_init(); }

// Returns null and unmaps the range when the kernel answered with an address that the page map
// cannot hold (five-level page tables, tagged pointers).
inline void* within_reach(void* at, size_t bytes) noexcept {
  if (at == nullptr) return nullptr;
  if (((reinterpret_cast<uintptr_t>(at) + bytes - 1) >> address_bits) != 0) {
    System::unmap(at, bytes);
    return nullptr;
  }
  return at;
}

// As System::map and System::reserve, but within reach.
TALUS_USUAL void* map_pages(void* hint, size_t bytes) noexcept {
  return within_reach(System::map(hint, bytes), bytes);
}
inline void* reserve_pages(size_t bytes) noexcept {
  return within_reach(System::reserve(bytes), bytes);
}

// Keeps the `bytes` of a range, `alignment` longer, that begin at a multiple of `alignment`; unmaps
// the rest.
inline void* cut_to_alignment(void* wide, size_t bytes, size_t alignment) noexcept {
  char* first = static_cast<char*>(wide);
  const uintptr_t start = reinterpret_cast<uintptr_t>(wide);
  TALUS_ASSERT(is_power_of_two(alignment) && start % page_bytes() == 0);
  const size_t before = round_up(start, alignment) - start;
  TALUS_ASSERT(before % page_bytes() == 0 && before <= alignment);
  char* aligned = first + before;
  // A refused unmap costs only addresses.
  if (before != 0) System::unmap(first, before);
  if (before != alignment) System::unmap(aligned + bytes, alignment - before);
  return aligned;
}

// Gives addresses back. Where the kernel refuses (another mapping would be needed), purges them, so
// that they keep no memory.
inline void unmap_or_purge(void* at, size_t bytes) noexcept {
  if (TALUS_UNLIKELY(!System::unmap(at, bytes))) System::purge(at, bytes);
}

// Maps `bytes` at a multiple of `alignment`; tries `hint`, the preferred place, first.
inline void* map_aligned(void* hint, size_t bytes, size_t alignment) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment) && alignment % page_bytes() == 0);
  void* first = map_pages(hint, bytes);
  if (first == nullptr) return nullptr;
  const uintptr_t address = reinterpret_cast<uintptr_t>(first);
  if (address % alignment == 0) return first;
  System::unmap(first, bytes);
  void* wide = map_pages(nullptr, bytes + alignment);
  return wide == nullptr ? nullptr : cut_to_alignment(wide, bytes, alignment);
}
// The same as a reservation without access.
inline void* reserve_aligned(size_t bytes, size_t alignment) noexcept {
  void* wide = reserve_pages(bytes + alignment);
  return wide == nullptr ? nullptr : cut_to_alignment(wide, bytes, alignment);
}

}  // namespace talus::core::os

namespace talus::core::report {

// The program's handler of SIGABRT, if there is one, runs with the locks that this thread holds, so
// no thread uses what the fault left half done. The handler has memory, and may fork. If it needs
// one of these locks, the process ends a while later (System::futex_wait).
[[noreturn]] TALUS_HOOK void stop(const Text& text) noexcept {
  os::System::write_error(text.data(), text.length());
  os::System::note_report();
  if (auto* last_act = shared_last_act.load_init()) last_act();
  abort();
}

}  // namespace talus::core::report

#endif  // TALUS_OS_OS_HPP
