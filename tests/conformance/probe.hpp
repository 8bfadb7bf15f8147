// What every conformance probe says and how it ends.
//
// A probe is one small program about one promise of an allocator. It checks itself: exit status 0
// is a pass, 1 a failure whose items stand on stderr, 77 "this machine or library cannot be asked".
// Measured numbers go to stdout as `figure: name = value unit`, where the runner picks them up.
// Nothing here allocates, because the allocator is what is being judged; anything may be called
// from any thread and from a forked child.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace probe {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t gib = 1024 * mib;

// Failures so far; any thread adds.
inline std::atomic<int> failures{0};

// More lines than this say nothing new: the count still grows.
constexpr int printed_failures_max = 20;

inline void write_all(int descriptor, const char* text, std::size_t length) {
  while (length > 0) {
    const ssize_t written = write(descriptor, text, length);
    if (written <= 0) return;
    text += written;
    length -= static_cast<std::size_t>(written);
  }
}

// One line of `format`, after the expression that was expected to hold where there is one.
inline void fail_with(const char* expected, const char* format, std::va_list arguments) {
  if (failures.fetch_add(1) >= printed_failures_max) return;
  char line[512];
  constexpr int length_max = static_cast<int>(sizeof(line)) - 1;
  int length = 0;
  if (expected != nullptr) {
    length = std::snprintf(line, 200, "expected %.150s: ", expected);
  }
  length += std::vsnprintf(line + length, sizeof(line) - static_cast<std::size_t>(length) - 1,
                           format, arguments);
  if (length > length_max) length = length_max;
  line[length] = '\n';
  write_all(STDERR_FILENO, line, static_cast<std::size_t>(length) + 1);
}

__attribute__((format(printf, 1, 2))) inline void fail(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  fail_with(nullptr, format, arguments);
  va_end(arguments);
}

__attribute__((format(printf, 2, 3))) inline void fail_expected(const char* expected,
                                                                const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  fail_with(expected, format, arguments);
  va_end(arguments);
}

// The condition goes into the message, so that a bare report still names what was expected.
#define PROBE_EXPECT(condition, ...)                 \
  do {                                               \
    if (!(condition)) {                              \
      probe::fail_expected(#condition, __VA_ARGS__); \
    }                                                \
  } while (false)

inline void figure(const char* name, double value, const char* unit) {
  char line[160];
  const int length = std::snprintf(line, sizeof(line), "figure: %s = %.4g %s\n", name, value, unit);
  if (length > 0) write_all(STDOUT_FILENO, line, static_cast<std::size_t>(length));
}

[[noreturn]] inline void skip(const char* reason) {
  write_all(STDERR_FILENO, reason, std::strlen(reason));
  write_all(STDERR_FILENO, "\n", 1);
  _exit(77);
}

inline int verdict() { return failures.load() == 0 ? 0 : 1; }

// Hides where a pointer came from: no compiler may drop the allocation behind it.
template <typename T>
inline T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// Hides a size, so that no compiler warns about, or folds, an impossible request.
inline std::size_t opaque(std::size_t size) {
  asm volatile("" : "+r"(size));
  return size;
}

}  // namespace probe
