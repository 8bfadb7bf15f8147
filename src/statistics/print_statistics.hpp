// SPDX-License-Identifier: MIT
// statistics/print_statistics: when and where statistics are printed.
//
// A sample has three triggers: the end of the process, a period of milliseconds, a number of bytes.
// The background thread takes the periodic samples, and stays while they are on. In a process that
// may have no background thread, only slow paths of the allocator take them.
//
// Owns: the options print_stats*, the buffer of a sample, and its lock. Invariants: it allocates
// nothing and makes only system calls. The sample lies in the library's data, so stacks of 16 KiB
// are enough. The lock comes before all locks of the heap. No thread waits for it for ever, because
// its holder may wait for the reader of a pipe. A sample that an option asked for waits for its
// reader only briefly. A pipe without a reader, or a stopped reader, does not keep a process from
// its end. Called on: any thread, without locks of the heap. Must not know: what is in a sample.
#ifndef TALUS_STATISTICS_PRINT_STATISTICS_HPP
#define TALUS_STATISTICS_PRINT_STATISTICS_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "settings/statistics.hpp"
#include "os/os.hpp"
#include "os/text.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/purge_request.hpp"
#include "statistics/statistics_forms.hpp"
#include "statistics/statistics.hpp"
#include "statistics/statistics_output.hpp"

namespace talus::core {

// Bits of the option print_stats_trigger.
enum StatisticsTrigger : uint64_t { at_exit = 1, each_time = 2, each_bytes = 4 };

struct StatisticsPrinter {
  PrinterLock lock;
  Statistics sample TALUS_GUARDED_BY(lock);
  StatisticsOutput output TALUS_GUARDED_BY(lock);
  // written to an output that is no file
  bool has_csv_header TALUS_GUARDED_BY(lock) = false;
  // the last sample was not written, and a warning said so
  bool has_failed TALUS_GUARDED_BY(lock) = false;
  // shared
  Atomic<uint64_t> next_ms;       // when the clock's next sample is due; 0: no samples
  Atomic<bool> is_left_to_paths;  // the process has no helper: slow paths look at the clock
};
TALUS_CONSTINIT inline StatisticsPrinter statistics_printer;

inline bool is_trigger_on(StatisticsTrigger trigger) noexcept {
  return options.print_stats.bytes[0] != '\0' && (options.print_stats_trigger & trigger) != 0;
}

// Waits for the lock, with an end. False: another thread is still printing.
inline bool begin_printing() noexcept TALUS_TRY_ACQUIRE(true, statistics_printer.lock) {
  constexpr int waits_max = 10000;
  for (int wait = 0; !statistics_printer.lock.try_lock(); wait++) {
    if (wait == waits_max) return false;
    os::System::sleep_us(100);
  }
  return true;
}

inline int print_sample(long file, Reader reader, StatsFormat format, bool with_csv_header) noexcept
    TALUS_REQUIRES(statistics_printer.lock) {
  Statistics& sample = statistics_printer.sample;
  StatisticsOutput& output = statistics_printer.output;
  collect_statistics(sample);
  output.begin(file, reader);
  switch (format) {
    case StatsFormat::text:
      text_form::print(output, sample);
      break;
    case StatsFormat::json:
      json_form::print(output, sample);
      break;
    case StatsFormat::csv:
      csv_form::print(output, sample, with_csv_header);
      break;
    case StatsFormat::openmetrics:
      openmetrics_form::print(output, sample);
      break;
  }
  return output.error;
}

// Prints one sample for a caller. 0, or an error: EBUSY, or the kernel's error for the descriptor.
inline int print_statistics(int file, StatsFormat format) noexcept {
  if (!begin_printing()) return EBUSY;
  const int error = print_sample(file, Reader::waited_for, format, true);
  statistics_printer.lock.unlock();
  return error;
}

using StatisticsPath = TextBuffer<option_text_bytes_max + 64>;

// The file that the option names; %p in the name is the process id.
inline StatisticsPath statistics_path() noexcept {
  StatisticsPath path;
  for (const char* at = options.print_stats.bytes; *at != '\0'; at++) {
    if (at[0] == '%' && at[1] == 'p') {
      path.put_number(static_cast<uint64_t>(os::System::process_id()));
      at++;
    } else {
      path.put_character(*at);
    }
  }
  return path;
}

// An OpenMetrics exposition is alone in its file, and readers find a whole one. Each process writes
// a second file of its own. It first removes one that a crashed process left there.
inline bool replace_file(const StatisticsPath& path) noexcept
    TALUS_REQUIRES(statistics_printer.lock) {
  TextBuffer<sizeof(StatisticsPath) + 32> fresh;
  fresh.put(path.data()).put(".new.").put_number(static_cast<uint64_t>(os::System::process_id()));
  long file = os::System::open_to_write(fresh.data(), os::FileStart::fresh);
  if (file == os::System::there_is_one && os::System::remove_name(fresh.data())) {
    file = os::System::open_to_write(fresh.data(), os::FileStart::fresh);
  }
  if (file < 0) return false;
  const int error = print_sample(file, Reader::of_own_file, StatsFormat::openmetrics, false);
  os::System::close_file(file);
  if (error == 0 && os::System::rename(fresh.data(), path.data())) return true;
  os::System::remove_name(fresh.data());
  return false;
}

// When processes find the file empty at once, one writes the header, under the file's lock. The
// others then find that the file is no longer empty. The wait has an end: the file system may have
// no locks, and the holder may be stopped.
struct HeaderTurn {
  long file = 0;
  long end = 0;          // of the file; negative: it is no file
  bool is_held = false;  // the lock

  HeaderTurn(long opened, StatsFormat format) noexcept
      : file{opened}, end{os::System::find_end(opened)} {
    if (end != 0 || format != StatsFormat::csv) return;
    constexpr int waits_max = 1000;
    long result = os::System::try_lock(file);
    for (int wait = 0; result == os::System::try_again && wait < waits_max; wait++) {
      os::System::sleep_us(1000);
      result = os::System::try_lock(file);
    }
    is_held = result == 0;
    end = os::System::find_end(file);
    if (end != 0) give();
  }
  ~HeaderTurn() { give(); }
  HeaderTurn(const HeaderTurn&) = delete;
  HeaderTurn& operator=(const HeaderTurn&) = delete;

 private:
  void give() noexcept {
    if (is_held) os::System::unlock(file);
    is_held = false;
  }
};

inline bool append_to_file(const StatisticsPath& path, StatsFormat format) noexcept
    TALUS_REQUIRES(statistics_printer.lock) {
  const long file = os::System::open_to_write(path.data(), os::FileStart::append);
  if (file < 0) return false;
  int error = 0;
  {
    const HeaderTurn turn{file, format};
    bool& has_header = statistics_printer.has_csv_header;
    const bool with_header = turn.end >= 0 ? turn.end == 0 : !has_header;
    if (turn.end < 0) has_header = true;
    error = print_sample(file, Reader::of_own_file, format, with_header);
  }
  os::System::close_file(file);
  return error == 0;
}

// Prints to the place that TALUS_PRINT_STATS names.
inline void print_as_options_say() noexcept {
  if (!begin_printing()) return;
  const char* where = options.print_stats.bytes;
  const StatsFormat format = options.print_stats_format;
  const bool is_stdout = is_same_name(where, "stdout");
  if (is_stdout || is_same_name(where, "stderr")) {
    const bool with_header = !statistics_printer.has_csv_header;
    statistics_printer.has_csv_header = true;
    print_sample(is_stdout ? 1 : 2, Reader::of_programs, format, with_header);
    return statistics_printer.lock.unlock();
  }
  const StatisticsPath path = statistics_path();
  // A device, a pipe or a link stays, and the target of a link is not emptied either.
  const bool is_alone =
      format == StatsFormat::openmetrics && os::System::may_be_replaced(path.data());
  const bool is_done = is_alone ? replace_file(path) : append_to_file(path, format);
  const bool is_said = statistics_printer.has_failed;
  statistics_printer.has_failed = !is_done;
  statistics_printer.lock.unlock();
  if (is_done || is_said) return;
  Text warning;
  warning.put("talus: cannot write statistics to ").put(path.data()).put("\n");
  if (rare_calls.are_allowed() && !os::System::wait_to_write(2, 0)) return;
  os::System::write_quietly(2, warning.data(), warning.length());
}

inline bool has_clock_samples() noexcept { return statistics_printer.next_ms.load_hint() != 0; }

// Prints if a sample of the clock is due. Returns the milliseconds until the next one.
inline uint64_t print_when_due() noexcept {
  Atomic<uint64_t>& next_ms = statistics_printer.next_ms;
  uint64_t due = next_ms.load_hint();  // the CAS rechecks
  const uint64_t now = os::System::now_ms();
  if (now < due) return due - now;
  const uint64_t each = options.print_stats_ms;
  const uint64_t next = due + ((now - due) / each + 1) * each;  // missed samples are not repeated
  if (next_ms.cas_acq_rel(due, next)) print_as_options_say();
  return next - now;
}

// At the end of slow paths, in a process that has clock samples and no helper.
inline void print_on_slow_path() noexcept {
  if (has_clock_samples() && statistics_printer.is_left_to_paths.load_hint()) print_when_due();
}

// At start and in the child of a fork: the clock's first sample is one period away. The next slow
// path starts the helper.
TALUS_START void begin_clock_samples() noexcept {
  if (!is_trigger_on(each_time)) return;
  const uint64_t first_ms = os::System::now_ms() + options.print_stats_ms;
  statistics_printer.next_ms.store_init(first_ms);
  purge_request.is_much.store_init(true);
}

inline void reset_printer_in_child() noexcept {
  statistics_printer.lock.reset_in_child();
  begin_clock_samples();
}

}  // namespace talus::core

#endif  // TALUS_STATISTICS_PRINT_STATISTICS_HPP
