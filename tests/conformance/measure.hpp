// How probes look at their own process: resident and mapped memory, maps, clocks.
//
// Read with plain system calls into buffers on the stack, so that looking changes nothing. Resident
// memory comes from smaps_rollup because the kernel's quick counters lag by some hundred KiB.
// Lazily freed pages are part of it, as they are part of what an operator sees.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace probe {

inline double now_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What this process has used of the processors: bars on work hold on a busy machine too.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

inline void sleep_ms(long milliseconds) {
  timespec time{milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  while (nanosleep(&time, &time) != 0) {}
}

// Calls `line` with each line of a text file, ended by zero. Lines longer than 1 KiB are cut.
template <typename OnLine>
inline bool for_each_line(const char* path, OnLine on_line) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[4096];
  char line[1024];
  std::size_t length = 0;
  ssize_t got;
  while ((got = read(file, buffer, sizeof(buffer))) > 0) {
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] == '\n') {
        line[length] = 0;
        on_line(static_cast<const char*>(line));
        length = 0;
      } else if (length + 1 < sizeof(line)) {
        line[length++] = buffer[i];
      }
    }
  }
  close(file);
  return true;
}

// The bytes behind `key` in a file of "Key:  123 kB" lines; 0 when the key is absent.
inline std::size_t kilobyte_field(const char* path, const char* key) {
  std::size_t bytes = 0;
  const std::size_t key_length = std::strlen(key);
  for_each_line(path, [&](const char* line) {
    if (std::strncmp(line, key, key_length) == 0) {
      bytes += std::strtoull(line + key_length, nullptr, 10) * 1024;
    }
  });
  return bytes;
}

inline std::size_t resident_bytes() {
  const std::size_t bytes = kilobyte_field("/proc/self/smaps_rollup", "Rss:");
  return bytes != 0 ? bytes : kilobyte_field("/proc/self/status", "VmRSS:");
}

// Resident memory without the pages of files: the kernel maps and takes back pages of a program and
// its libraries as it likes.
inline std::size_t resident_data_bytes() {
  const std::size_t anonymous = kilobyte_field("/proc/self/smaps_rollup", "Anonymous:");
  if (anonymous == 0) return resident_bytes();
  return anonymous + kilobyte_field("/proc/self/smaps_rollup", "Pss_Shmem:");
}

inline std::size_t virtual_bytes() { return kilobyte_field("/proc/self/status", "VmSize:"); }

inline std::size_t map_count() {
  std::size_t count = 0;
  for_each_line("/proc/self/maps", [&](const char*) { ++count; });
  return count;
}

inline std::size_t saturating_difference(std::size_t from, std::size_t take) {
  return from > take ? from - take : 0;
}

// Polls until `is_reached()` or the time is over; the answer is the last look.
template <typename Condition>
inline bool within(double seconds, Condition is_reached) {
  const double deadline = now_seconds() + seconds;
  while (!is_reached()) {
    if (now_seconds() > deadline) return is_reached();
    sleep_ms(20);
  }
  return true;
}

// Resident bytes once none leave any more: nothing left during 0.8 s, or 5 s are over.
inline std::size_t settled_resident_bytes() {
  std::size_t least = resident_bytes();
  double since = now_seconds();
  const double deadline = since + 5;
  for (double now = since; now - since < 0.8 && now < deadline; now = now_seconds()) {
    sleep_ms(20);
    const std::size_t bytes = resident_bytes();
    if (bytes >= least) continue;
    least = bytes;
    since = now;
  }
  return least;
}

// Growth of resident data over many equal rounds: the least of the last three samples against the
// most of the first two. Caches that fill and empty cancel out, a leak does not.
class Drift {
 public:
  void sample() {
    const std::size_t now = resident_data_bytes();
    if (count_ < early_count) early_most_ = now > early_most_ ? now : early_most_;
    latest_[count_ % late_count] = now;
    ++count_;
  }

  std::size_t bytes() const {
    std::size_t least = latest_[0];
    for (const std::size_t bytes : latest_) least = bytes < least ? bytes : least;
    return saturating_difference(least, early_most_);
  }

 private:
  static constexpr std::size_t early_count = 2;
  static constexpr std::size_t late_count = 3;
  std::size_t count_ = 0;
  std::size_t early_most_ = 0;
  std::size_t latest_[late_count] = {};
};

inline double to_mib(std::size_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

}  // namespace probe
