// SPDX-License-Identifier: MIT
// threads/page_listener: tells the program of pages before they go (os/page_watch.hpp).
//
// Owns: that no helper runs while a listener is set. The listener and the C library's functions use
// thread-local storage and locks of the program's threads. The helper is no thread of the C
// library. Invariant: the listener hears of each change that begins after set_page_listener()
// returned. Called on: any thread, without locks. Must not know: the listeners.
#ifndef TALUS_THREADS_PAGE_LISTENER_HPP
#define TALUS_THREADS_PAGE_LISTENER_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "statistics/print_statistics.hpp"
#include "threads/helper.hpp"

namespace talus::core {

inline void set_page_listener(os::PageListener listener) noexcept {
  os::page_watch.listen(listener);
  if (!os::page_watch.is_on()) return;
  // start_locked() reads page_watch, so this also ends a helper that was made before the change.
  statistics_printer.is_left_to_paths.store_hint(true);
  end_helper(Ended::held);
  permit_helper();
}

}  // namespace talus::core

#endif  // TALUS_THREADS_PAGE_LISTENER_HPP
