// SPDX-License-Identifier: MIT
// process/summary: what the heap did, said once, when the process ends.
//
// Owns: the words and their layout. Invariant: allocates nothing; the numbers are those of
// heap/totals and modes/counting, none is made up here. Called on: the thread that runs the
// process's last destructors, or any thread that asks (malloc_stats).
#ifndef TALUS_PROCESS_SUMMARY_HPP
#define TALUS_PROCESS_SUMMARY_HPP

#include <fcntl.h>
#include <sys/resource.h>

#include "heap/totals.hpp"
#include "modes/counting.hpp"
#include "process/version.hpp"

namespace talus {

inline Atomic<uint64_t> process_started_ns;

using SummaryText = TextBuffer<4096>;

inline SummaryText& put_name(SummaryText& text, const char* name) noexcept {
  size_t length = 0;
  while (name[length] != '\0') length++;
  text.put("  ").put(name);
  for (; length < 24; length++) text.put(" ");
  return text;
}
inline void put_mib(SummaryText& text, const char* name, uint64_t bytes) noexcept {
  put_name(text, name).put_thousandths(bytes * 1000 / mib).put(" MiB\n");
}
inline void put_count(SummaryText& text, const char* name, uint64_t count) noexcept {
  put_name(text, name).put_number(count).put("\n");
}

inline void put_process(SummaryText& text) noexcept {
  rusage usage{};
  arch::system_call(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&usage), 0, 0, 0, 0);
  const uint64_t started = process_started_ns.load_relaxed();  // [init]
  const uint64_t wall_ns = started == 0 ? 0 : os::System::now_ns() - started;
  text.put("  wall time               ").put_thousandths(wall_ns / 1000000).put(" s\n");
  put_mib(text, "peak RSS", static_cast<uint64_t>(usage.ru_maxrss) * kib);
  text.put("  page faults             ").put_number(static_cast<uint64_t>(usage.ru_minflt))
      .put(" minor, ").put_number(static_cast<uint64_t>(usage.ru_majflt)).put(" major\n");
}

inline void put_heap(SummaryText& text, const HeapTotals& totals) noexcept {
  put_mib(text, "live", totals.live());
  put_mib(text, "free in slabs", totals.free_in_slabs);
  put_mib(text, "free in threads", totals.listed + totals.on_their_way + totals.kept_large);
  put_mib(text, "free, retained", totals.dirty);
  put_mib(text, "metadata", totals.metadata);
  put_mib(text, "address space", totals.space.reserved_bytes);
  text.put("  given back to the OS    ").put_thousandths(totals.space.purged_bytes * 1000 / mib)
      .put(" MiB in ").put_number(totals.space.purge_count).put(" steps\n");
  text.put("  heaps                   ").put_number(totals.heap_count).put(" (")
      .put_number(totals.deserted_count).put(" without a thread), thread caches ")
      .put_number(totals.cache_count).put(", slabs ")
      .put_number(totals.slab_count).put(", large blocks ")
      .put_number(totals.live_large_count).put("\n");
}

inline void put_calls(SummaryText& text, const counting::Counts& counts) noexcept {
  put_count(text, "allocations", counts.allocation_sum);
  put_count(text, "frees", counts.frees);
  put_mib(text, "requested in total", counts.requested_bytes);
  put_mib(text, "peak of live blocks", static_cast<uint64_t>(counts.peak_bytes));
  text.put("  allocations by size\n");
  for (size_t range = 0; range < counting::range_count; range++) {
    const bool is_last = range == counting::range_count - 1;
    text.put(is_last ? "    more    " : "    up to ");
    if (!is_last) {
      const size_t limit = counting::range_limits[range];
      const bool in_kib = limit >= kib;
      text.put_number(in_kib ? limit / kib : limit, 4).put(in_kib ? " KiB" : " B  ");
    } else {
      text.put("      ");
    }
    text.put_number(counts.allocations[range], 14).put("\n");
  }
}

inline SummaryText summary(bool with_process) noexcept {
  SummaryText text;
  text.put("talus ").put(version_text).put(", process ")
      .put_number(static_cast<uint64_t>(arch::system_call(SYS_getpid, 0, 0, 0, 0, 0, 0)))
      .put("\n");
  if (with_process) put_process(text);
  put_heap(text, collect_totals());
  if (counting::shared.is_on.load_relaxed()) put_calls(text, counting::collect());  // [init]
  return text;
}

// Opens the file that an option names; %p in the name is the process id. Negative: it cannot.
inline long open_stats_file(const char* name) noexcept {
  TextBuffer<512> path;
  for (const char* at = name; *at != '\0'; at++) {
    if (at[0] == '%' && at[1] == 'p') {
      path.put_number(static_cast<uint64_t>(arch::system_call(SYS_getpid, 0, 0, 0, 0, 0, 0)));
      at++;
    } else {
      path.put_character(*at);
    }
  }
  return arch::system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path.data()),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644, 0, 0);
}

inline void write_all(long descriptor, const char* text, size_t bytes) noexcept {
  while (bytes > 0) {
    const long written = arch::system_call(SYS_write, descriptor, reinterpret_cast<long>(text),
                                           static_cast<long>(bytes), 0, 0, 0);
    if (written <= 0 && written != -4) return;  // EINTR: again
    if (written <= 0) continue;
    text += written;
    bytes -= static_cast<size_t>(written);
  }
}

inline bool is_same_text(const char* a, const char* b) noexcept {
  while (*a != '\0' && *a == *b) a++, b++;
  return *a == *b;
}

// Writes the summary where TALUS_PRINT_STATS says.
inline void print_summary() noexcept {
  const char* where = options.print_stats.bytes;
  const SummaryText text = summary(true);
  if (is_same_text(where, "stdout")) return write_all(1, text.data(), text.length());
  if (is_same_text(where, "stderr")) return write_all(2, text.data(), text.length());
  const long file = open_stats_file(where);
  if (file < 0) {
    Text warning;
    warning.put("talus: cannot write statistics to ").put(where).put("\n");
    return write_all(2, warning.data(), warning.length());
  }
  write_all(file, text.data(), text.length());
  arch::system_call(SYS_close, file, 0, 0, 0, 0, 0);
}

}  // namespace talus

#endif  // TALUS_PROCESS_SUMMARY_HPP
