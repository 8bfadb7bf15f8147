// The result of a workload: one JSON object on the last line of stdout.
//
// Owns: the fields that all workloads report, and the figures of the process after the last free.
// Only workload.hpp includes it, and a workload includes workload.hpp.
// Invariant: print() is called when every block has been freed. Neither it nor rss_now_kib()
// allocates before the last figure has been read, so that an idle heap stays idle.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>

#include "workload.hpp"

namespace bench {

inline long rss_now_kib() {
  char text[128] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  char* second = nullptr;
  if (length <= 0) return 0;
  std::strtol(text, &second, 10);  // the first number is the size of the address space
  return std::strtol(second, nullptr, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

class Result {
 public:
  Result(const char* benchmark, size_t threads, double figure, const char* unit,
         bool is_higher_better, uint64_t ops, double elapsed_s) {
    add("{\"benchmark\": \"%s\", \"threads\": %zu, \"figure\": %.9g, \"unit\": \"%s\"", benchmark,
        threads, figure, unit);
    add(", \"higher_is_better\": %s", is_higher_better ? "true" : "false");
    add(", \"ops\": %llu, \"elapsed_s\": %.6f", static_cast<unsigned long long>(ops), elapsed_s);
  }

  void number(const char* name, double value) { add(", \"%s\": %.9g", name, value); }
  void count(const char* name, uint64_t value) {
    add(", \"%s\": %llu", name, static_cast<unsigned long long>(value));
  }

  // Ends the line. rss_end_kib is the resident memory after the workload has freed its blocks.
  // malloc_from is the library whose malloc this process really calls, so that a runner can prove
  // that a preload took effect.
  void print() {
    const long rss_end_kib = rss_now_kib();
    if (after_free_is_wanted) add_after_free();
    if (trim_record.shared_is_asked) {
      truth("trims", !trim_record.shared_has_failed);
      truth("trim_is_timed", trim_record.shared_is_timed);
    }
    Dl_info origin{};
    void* entry = dlsym(RTLD_DEFAULT, "malloc");
    const bool is_found = entry != nullptr && dladdr(entry, &origin) != 0;
    add(", \"rss_end_kib\": %ld, \"malloc_from\": \"%s\"}", rss_end_kib,
        is_found && origin.dli_fname != nullptr ? origin.dli_fname : "");
    std::printf("%s\n", text_);
    std::fflush(stdout);
  }

 private:
  void truth(const char* name, bool is_true) {
    add(", \"%s\": %s", name, is_true ? "true" : "false");
  }

  void add_after_free() {
    sleep_s(1);
    count("rss_after_1s_kib", static_cast<uint64_t>(rss_now_kib()));
    sleep_s(9);
    count("rss_after_10s_kib", static_cast<uint64_t>(rss_now_kib()));
  }

  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    const int length = std::vsnprintf(text_ + used_, sizeof text_ - used_, format, values);
    va_end(values);
    if (length < 0 || used_ + static_cast<size_t>(length) >= sizeof text_) {
      leave(exit_wrong_arguments, "the result line is too long");
    }
    used_ += static_cast<size_t>(length);
  }

  char text_[4096] = {};
  size_t used_ = 0;
};

}  // namespace bench
