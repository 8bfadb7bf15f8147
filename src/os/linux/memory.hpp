// SPDX-License-Identifier: MIT
// os/linux/memory: pages and addresses.
//
// Owns: nothing. Contract: os/contract.hpp, the core calls on memory and the groups moving, guards
// and purge_runs. After start only mmap, munmap, mremap and madvise are used here, and mprotect by
// the background thread. So the narrowest sandboxes let them pass; tests/conformance runs under
// such a filter. Called on: any thread, before libc is ready. Must not know: its callers.
#ifndef TALUS_OS_LINUX_MEMORY_HPP
#define TALUS_OS_LINUX_MEMORY_HPP

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/base.hpp"
#include "os/arguments.hpp"
#include "os/linux/clock.hpp"
#include "os/linux/kernel_call.hpp"
#include "os/linux/proofs.hpp"
#include "os/linux/watched_calls.hpp"

namespace talus::core::os {

// The kernel reads arrays of these.
static_assert(sizeof(PageRun) == sizeof(iovec));

struct LinuxMemory : LinuxProofs, WatchedCalls, LinuxClock {
  static constexpr bool has_moving = true, has_guards = true, has_purge_runs = true;

  static size_t page_bytes() noexcept { return getauxval(AT_PAGESZ); }

  static void* map(void* hint, size_t bytes) noexcept {
    const long at = call(SYS_mmap, to_long(hint), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    tell_after_map();
    return is_error(at) ? nullptr : reinterpret_cast<void*>(at);
  }
  static bool unmap(void* at, size_t bytes) noexcept {
    tell_before_unmap();
    return page_call(SYS_munmap, at, bytes) == 0;
  }
  static bool purge(void* at, size_t bytes) noexcept {
    return is_purge_true() && page_call(SYS_madvise, at, bytes, MADV_DONTNEED) == 0;
  }
  // Linux 6.14 or later.
  static size_t purge_runs(const PageRun* runs, size_t count) noexcept {
    if (TALUS_UNLIKELY(page_watch.is_on())) return purge_one_by_one(runs, count);
    if (!is_purge_of_runs_true()) return 0;
    const long result = call(process_madvise, own_process, to_long(runs), static_cast<long>(count),
                             MADV_DONTNEED, 0);
    size_t left = is_error(result) ? 0 : static_cast<size_t>(result);
    size_t done = 0;
    for (; done < count && left >= runs[done].bytes; done++) left -= runs[done].bytes;
    return done;
  }
  static bool map_anew(void* at, size_t bytes) noexcept {
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const long result = page_call(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (result == to_long(at)) return true;
    map_if_gone(at, bytes);
    return false;
  }
  static size_t move_pages(void* from, void* to, size_t bytes) noexcept {
    if constexpr (TALUS_COPY_ONLY != 0) return 0;
    if (!is_move_true()) return 0;
    bytes = bytes_of_one_mapping(from, bytes);
    const long length = static_cast<long>(bytes);
    const long result = page_call(SYS_mremap, from, bytes, length, move_flags, to_long(to));
    if (result == to_long(to)) return bytes;
    if (result != invalid_argument) map_if_gone(to, bytes);
    return 0;
  }
  // A call that the kernel abandons because other threads made too many mappings may have unmapped
  // these pages. No other mapping is expected to have taken the addresses since.
  static void map_if_gone(void* at, size_t bytes) noexcept {
    constexpr long fixed_noreplace = 0x100000;  // Linux 4.17; MREMAP_DONTUNMAP is younger
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed_noreplace;
    for (int attempt = 0; attempt < 1000; attempt++) {
      const long result = call(SYS_mmap, to_long(at), static_cast<long>(bytes),
                               PROT_READ | PROT_WRITE, flags, -1, 0);
      if (result != no_memory) return;
      sleep_us(100);
    }
  }
  // How many bytes from here on, a page at least, belong to one mapping. Pages of several mappings
  // are not moved at once. Linux before 6.17 refuses that, but unmaps the target's pages first.
  // Later kernels move only a part where there are too many mappings.
  static size_t bytes_of_one_mapping(void* at, size_t bytes) noexcept {
    if (is_one_mapping(at, bytes)) return bytes;
    size_t one = page_bytes(), several = bytes;
    while (several - one > page_bytes()) {
      const size_t middle = one + (several - one) / 2 / page_bytes() * page_bytes();
      (is_one_mapping(at, middle) ? one : several) = middle;
    }
    return one;
  }
  static bool is_one_mapping(void* at, size_t bytes) noexcept {
    const long length = static_cast<long>(bytes);
    const long page = static_cast<long>(page_bytes());
    // Asks for one page more. The error tells whether another mapping begins within the range, or
    // only the room for the extra page is missing.
    const long result = call(SYS_mremap, to_long(at), length, length + page, 0);
    if (result == no_memory) return true;
    if (result != to_long(at)) return false;
    return unmap(static_cast<char*>(at) + bytes, static_cast<size_t>(page));
  }

  static void* reserve(size_t bytes) noexcept {
    const long at = call(SYS_mmap, 0, static_cast<long>(bytes), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    tell_after_map();
    return is_error(at) ? nullptr : reinterpret_cast<void*>(at);
  }
  static bool allow(void* at, size_t bytes) noexcept {
    return call(SYS_mprotect, to_long(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE) == 0;
  }
  // A new mapping joins its neighbours; pages whose access is removed would not. But removing
  // access works even where there are too many mappings.
  static bool decommit(void* at, size_t bytes) noexcept {
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const long result = page_call(SYS_mmap, at, bytes, PROT_NONE, flags, -1, 0);
    return result == to_long(at) || (protect(at, bytes) && purge(at, bytes));
  }

  static bool protect(void* at, size_t bytes) noexcept {
    return call(SYS_mprotect, to_long(at), static_cast<long>(bytes), PROT_NONE) == 0;
  }
  // No mapping is split. Linux 6.13 or later.
  static bool set_guards(void* at, size_t bytes) noexcept {
    return is_guard_true() && page_call(SYS_madvise, at, bytes, guard_install) == 0;
  }
  static bool lift_guards(void* at, size_t bytes) noexcept {
    return call(SYS_madvise, to_long(at), static_cast<long>(bytes), guard_remove) == 0;
  }

 private:
  static size_t purge_one_by_one(const PageRun* runs, size_t count) noexcept {
    size_t done = 0;
    while (done < count && purge(runs[done].at, runs[done].bytes)) done++;
    return done;
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_MEMORY_HPP
