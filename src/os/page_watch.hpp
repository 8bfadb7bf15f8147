// SPDX-License-Identifier: MIT
// os/page_watch: the listener that learns of pages before they go.
//
// A cache of registered memory (RDMA, MPI, GPU drivers) must learn of such calls before they
// happen. It sets a listener (talus_set_page_listener), or it hooks the C library's functions and
// asks that Talus calls those (option libc_calls).
// Owns: the listener and the choice of the way. Called on: any thread but the background thread,
// which does not exist while a watcher is set (threads/helper.hpp). Must not know: why memory is
// purged or unmapped.
#ifndef TALUS_OS_PAGE_WATCH_HPP
#define TALUS_OS_PAGE_WATCH_HPP

#include "base/base.hpp"

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
TALUS_CONSTINIT inline PageWatch page_watch;

}  // namespace talus::core::os

#endif  // TALUS_OS_PAGE_WATCH_HPP
