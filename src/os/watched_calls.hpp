// SPDX-License-Identifier: MIT
// os/watched_calls: the calls after which an address has other memory, or none.
//
// A cache of registered memory (RDMA, MPI, GPU drivers) must learn of these calls before they
// happen. It sets a listener (talus_set_page_listener), or it hooks the C library's functions and
// asks that Talus calls those (option libc_calls).
// Owns: the listener and the choice of the way. Contract: as a system call, but errno is kept where
// the C library is called. The listener runs before the call, on the thread that makes it, which
// may hold locks. Called on: any thread but the background thread, which does not exist while a
// watcher is set (threads/helper.hpp). Must not know: why memory is purged or unmapped.
#ifndef TALUS_OS_WATCHED_CALLS_HPP
#define TALUS_OS_WATCHED_CALLS_HPP

#include <errno.h>
#include <sys/mman.h>

#include "base/base.hpp"
#include "os/file_calls.hpp"

namespace talus::core::os {

using PageListener = void (*)(void* at, size_t bytes);

class PageWatch {
 public:
  bool is_on() const noexcept {
    return shared_is_by_libc_.load_init() || shared_listener_.load_acquire() != nullptr;
  }
  bool is_by_libc() const noexcept { return shared_is_by_libc_.load_init(); }
  void go_by_libc() noexcept { shared_is_by_libc_.store_init(true); }
  void listen(PageListener listener) noexcept { shared_listener_.store_release(listener); }
  void tell(void* at, size_t bytes) const noexcept {
    const PageListener listener = shared_listener_.load_acquire();
    if (listener != nullptr) listener(at, bytes);
  }

 private:
  Atomic<PageListener> shared_listener_;  // null: none
  Atomic<bool> shared_is_by_libc_;
};
inline PageWatch page_watch;

struct WatchedCalls : FileCalls {
  // Announces that the contents of these pages are about to go by another call than page_call.
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

#endif  // TALUS_OS_WATCHED_CALLS_HPP
