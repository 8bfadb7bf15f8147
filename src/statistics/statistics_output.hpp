// SPDX-License-Identifier: MIT
// statistics/statistics_output: the file that receives a sample of statistics, piece by piece.
//
// Owns: the buffer, and how long a sample waits for a reader that does not read. Invariants: it
// allocates nothing, and the program sees no signal. A sample that an option asked for ends soon,
// whatever its reader does. Called on: any thread, without locks of the heap. Must not know: forms.
#ifndef TALUS_STATISTICS_STATISTICS_OUTPUT_HPP
#define TALUS_STATISTICS_STATISTICS_OUTPUT_HPP

#include <cerrno>

#include "os/os.hpp"

namespace talus::core {

// What a sample does while its reader does not read.
enum class Reader : uint8_t {
  waited_for,   // the program called, and waits as for its own writes
  of_own_file,  // opened by Talus so that a write never waits; retried for a while
  of_programs,  // stdout or stderr, where a write may wait: polled first, for a while
};
// The total wait of a sample. Programs share stdout and stderr with their samples, and a pager is
// slow to read them.
inline constexpr uint64_t own_file_patience_ms = 1000;
inline constexpr uint64_t programs_file_patience_ms = 5000;

// A file that is written in pieces of a buffer.
struct StatisticsOutput {
  // A pipe that can take anything can take this much.
  static constexpr size_t buffer_bytes = 4096;
  static constexpr size_t item_bytes_max = 512;  // of the text put between two calls of next()

  TextBuffer<buffer_bytes> text;
  long file = 0;  // set by begin()
  int error = 0;  // the kernel's first error
  Reader reader = Reader::waited_for;
  uint64_t until_ms = 0;  // the wait for the reader ends then

  void begin(long descriptor, Reader its_reader) noexcept {
    text.clear();
    file = descriptor;
    error = 0;
    reader = its_reader;
    const bool is_own = reader == Reader::of_own_file;
    until_ms = os::System::now_ms() + (is_own ? own_file_patience_ms : programs_file_patience_ms);
  }
  // Makes room for one more item.
  TextBuffer<buffer_bytes>& next() noexcept {
    if (text.length() + item_bytes_max >= buffer_bytes) flush();
    return text;
  }
  void flush() noexcept {
    const char* at = text.data();
    size_t left = text.length();
    while (left > 0 && error == 0) {
      if (!is_reader_there()) {
        error = EAGAIN;
        break;
      }
      const long written = os::System::write_quietly(file, at, left);
      if (written == os::System::interrupted || may_try_again(written)) continue;
      if (written <= 0) {
        error = written == 0 ? EIO : static_cast<int>(-written);
        break;
      }
      at += written;
      left -= static_cast<size_t>(written);
    }
    text.clear();
  }

 private:
  // Where a filter may forbid polling, the write itself waits for the reader.
  bool is_reader_there() const noexcept {
    if (reader != Reader::of_programs || !rare_calls.are_allowed()) return true;
    const uint64_t now = os::System::now_ms();
    return os::System::wait_to_write(file, now < until_ms ? until_ms - now : 0);
  }
  bool may_try_again(long result) const noexcept {
    const bool is_full = result == os::System::try_again && reader != Reader::waited_for;
    if (!is_full || os::System::now_ms() >= until_ms) return false;
    os::System::sleep_us(1000);
    return true;
  }
};

}  // namespace talus::core

#endif  // TALUS_STATISTICS_STATISTICS_OUTPUT_HPP
