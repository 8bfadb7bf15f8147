// SPDX-License-Identifier: MIT
// reclaim/page_runs: purges many runs of pages in one call of the kernel, where it has such a call.
// Each call makes all processors drop address translations, and interrupts those that run this
// program.
//
// Owns: whether the kernel knows the call. Invariant: a run is told as purged only if it was.
// Called on: the background thread, or a thread that purges at once, without a lock that another
// thread waits for. Must not know: what lies in the pages.
#ifndef TALUS_RECLAIM_PAGE_RUNS_HPP
#define TALUS_RECLAIM_PAGE_RUNS_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

// Returns how many were purged, from the first on.
inline size_t purge_runs_together(const os::PageRun* runs, size_t count, size_t& calls) noexcept {
  static Atomic<bool> is_unknown;  // the kernel does not know this call
  if (count < 2 || !rare_calls.are_allowed() || is_unknown.load_hint()) return 0;
  calls++;
  const size_t done = os::System::purge_runs(runs, count);
  // Refused even for one: an older kernel, or locked pages, which single purges cannot help either.
  if (done == 0) is_unknown.store_hint(true);
  return done;
}

// Calls note(index) for each run that the kernel purged. Returns the number of calls.
template <typename Note>
size_t purge_page_runs(const os::PageRun* runs, size_t count, Note note) noexcept {
  size_t calls = 0;
  const size_t done = purge_runs_together(runs, count, calls);
  TALUS_ASSERT(done <= count);
  for (size_t i = 0; i < done; i++) note(i);
  for (size_t i = done; i < count; i++) {
    calls++;
    if (os::System::purge(runs[i].at, runs[i].bytes)) note(i);
  }
  return calls;
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_PAGE_RUNS_HPP
