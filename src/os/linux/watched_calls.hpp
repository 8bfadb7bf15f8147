// SPDX-License-Identifier: MIT
// os/linux/watched_calls: the calls after which an address has other memory, or none.
//
// A watcher of pages (os/page_watch.hpp) learns of these calls first, or they are made through the
// C library, where it has hooks.
// Owns: the choice of the way. Contract: as a system call, but errno is kept where the C library is
// called. The listener runs before the call, on the thread that makes it, which may hold locks.
// Called on: any thread but the background thread, which does not exist while a watcher is set
// (threads/helper.hpp). Must not know: why memory is purged or unmapped.
#ifndef TALUS_OS_LINUX_WATCHED_CALLS_HPP
#define TALUS_OS_LINUX_WATCHED_CALLS_HPP

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/linux/kernel_call.hpp"
#include "os/page_watch.hpp"

namespace talus::core::os {

struct WatchedCalls : KernelCall {
  static constexpr bool has_page_watch = true;

  static void announce(void* at, size_t bytes) noexcept {
    if (TALUS_UNLIKELY(page_watch.is_on())) announce_watched(at, bytes);
  }

 protected:
  // munmap, madvise, mremap to a fixed place, or mmap over existing pages. `b` and `c` are the
  // arguments behind the size.
  static long page_call(long number, void* at, size_t bytes, long b = 0, long c = 0, long d = 0,
                        long e = 0) noexcept {
    if (TALUS_UNLIKELY(page_watch.is_on())) return watched_call(number, at, bytes, b, c, d, e);
    return call(number, to_long(at), static_cast<long>(bytes), b, c, d, e);
  }

 private:
  // Hooks know what MADV_DONTNEED means, whatever call follows.
  TALUS_COLD static void announce_watched(void* at, size_t bytes) noexcept {
    page_watch.tell(at, bytes);
    if (!page_watch.is_by_libc()) return;
    const int errno_before = errno;
    ::madvise(at, bytes, MADV_DONTNEED);
    errno = errno_before;
  }
  TALUS_COLD static long watched_call(long number, void* at, size_t bytes, long b, long c, long d,
                                      long e) noexcept {
    const bool is_known = number != SYS_mmap && (number != SYS_madvise || b == MADV_DONTNEED);
    if (is_known) {
      page_watch.tell(at, bytes);
    } else {
      announce_watched(at, bytes);
    }
    if (number == SYS_mremap) announce_watched(reinterpret_cast<void*>(d), bytes);
    if (page_watch.is_by_libc()) return call_libc(number, at, bytes, b, c, d, e);
    return call(number, to_long(at), static_cast<long>(bytes), b, c, d, e);
  }
  TALUS_COLD static long call_libc(long number, void* at, size_t bytes, long b, long c, long d,
                                   long e) noexcept {
    const int errno_before = errno;
    long result = -1;
    if (number == SYS_munmap) {
      result = ::munmap(at, bytes);
    } else if (number == SYS_madvise) {
      result = ::madvise(at, bytes, static_cast<int>(b));
    } else if (number == SYS_mremap) {
      result = to_long(::mremap(at, bytes, static_cast<size_t>(b), static_cast<int>(c),
                                reinterpret_cast<void*>(d)));
    } else {
      result = to_long(
          ::mmap(at, bytes, static_cast<int>(b), static_cast<int>(c), static_cast<int>(d), e));
    }
    if (result == -1) result = -errno;
    errno = errno_before;
    return result;
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_WATCHED_CALLS_HPP
