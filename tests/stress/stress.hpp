// SPDX-License-Identifier: MIT
// stress: what every stress program uses: its time, checks, contents of blocks, threads, memory.
//
// A stress program contains the headers of the core and so has a heap of its own; the C library
// keeps its malloc. `stress NAME` runs one for TALUS_TEST_SECONDS (about 3 by default). It checks
// itself and ends with status 0, or says what it saw and aborts. Bars on resident memory hold only
// without sanitizers, whose shadow memory is resident too; the heap's own totals are checked in
// every build.
// Called on: any thread. Nothing here allocates, but threads.
#ifndef TALUS_TESTS_STRESS_STRESS_HPP
#define TALUS_TESTS_STRESS_STRESS_HPP

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "paths/resize.hpp"
#include "inspect/totals.hpp"
#include "process/start.hpp"

namespace stress {

using talus::core::kib;
using talus::core::mib;

constexpr bool is_under_tsan = TALUS_UNDER_TSAN != 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif
#else
constexpr bool is_sanitized = false;
#endif

// The status of a program that cannot say anything in this build.
constexpr int skipped = 77;

// Aborts, so that a debugger or a core file finds the other threads where they were.
#define STRESS_CHECK(condition, ...)                                                \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fflush(stdout);                                                               \
      fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                                 \
      fprintf(stderr, "\n");                                                        \
      abort();                                                                      \
    }                                                                               \
  } while (false)

// One of the programs that main.cpp knows by name. It lives as long as the process.
class Program {
 public:
  Program(const char* name, int (*run)()) : name_{name}, run_{run}, next_{first} { first = this; }
  static const Program* find(const char* name) {
    const Program* program = first;
    while (program != nullptr && strcmp(program->name_, name) != 0) program = program->next_;
    return program;
  }
  template <typename Visit>
  static void for_each_name(Visit visit) {
    for (const Program* at = first; at != nullptr; at = at->next_) visit(at->name_);
  }
  int run() const { return run_(); }

 private:
  inline static const Program* first = nullptr;
  const char* name_;
  int (*run_)();
  const Program* next_;
};

inline double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// What the environment gives each program.
inline double test_seconds() {
  const char* text = getenv("TALUS_TEST_SECONDS");
  const double seconds = text != nullptr ? atof(text) : 0;
  return seconds > 0 ? seconds : 3;
}

// A share of the program's time.
class Deadline {
 public:
  explicit Deadline(double share = 1) : end_{now_seconds() + share * test_seconds()} {}
  bool is_over() const { return now_seconds() >= end_; }

 private:
  double end_;
};

inline void sleep_us(long microseconds) {
  timespec time{microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, nullptr);
}

// Numbers that are the same in every run for a given seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_{talus::core::mix_bits(seed + 1)} {}
  uint64_t next() { return talus::core::mix_bits(state_ += 0x9e3779b97f4a7c15u); }
  size_t below(size_t bound) { return static_cast<size_t>(next() % bound); }
  // Most small, few large: a uniform number of bits up to `bytes_max`.
  size_t size(size_t bytes_max) {
    const unsigned bits = talus::core::highest_bit(bytes_max);
    const size_t bytes = below(size_t{2} << below(bits + 1));
    return bytes == 0 ? 1 : bytes > bytes_max ? bytes_max : bytes;
  }

 private:
  uint64_t state_;
};

// Writes its size and address-independent pattern into a block: all of a small one, the head of
// each page and the tail of a large one. At least 16 bytes.
struct Stamp {
  uint64_t bytes;
  uint64_t seed;
};
constexpr size_t stamp_bytes_min = sizeof(Stamp);

template <typename Visit>
inline void visit_words(void* block, size_t bytes, Visit visit) {
  auto* words = static_cast<uint64_t*>(block);
  const size_t count = bytes / sizeof(uint64_t);
  const size_t step = bytes <= 4 * kib ? 1 : 509;
  for (size_t i = 2; i < count; i += step) visit(words[i], i);
  if (count > 2) visit(words[count - 1], count - 1);
}
inline void fill(void* block, size_t bytes, uint64_t seed) {
  STRESS_CHECK(block != nullptr, "no memory for %zu bytes", bytes);
  STRESS_CHECK(reinterpret_cast<uintptr_t>(block) % 16 == 0, "%p of %zu bytes", block, bytes);
  *static_cast<Stamp*>(block) = {bytes, seed};
  visit_words(block, bytes, [seed](uint64_t& word, size_t i) { word = seed ^ (i << 20); });
}
// Checks a block that fill() wrote; returns its bytes.
inline size_t check(void* block) {
  const Stamp stamp = *static_cast<Stamp*>(block);
  STRESS_CHECK(stamp.bytes <= talus::core::usable_size(block), "%p says it has %zu bytes", block,
               static_cast<size_t>(stamp.bytes));
  visit_words(block, stamp.bytes, [&](uint64_t& word, size_t i) {
    STRESS_CHECK(word == (stamp.seed ^ (i << 20)), "word %zu of %zu bytes at %p", i,
                 static_cast<size_t>(stamp.bytes), block);
  });
  return stamp.bytes;
}
inline void* make_filled(Random& random, size_t bytes) {
  if (bytes < stamp_bytes_min) bytes = stamp_bytes_min;
  void* block = talus::core::allocate(bytes);
  fill(block, bytes, random.next());
  return block;
}
inline void check_and_release(void* block) {
  if (block == nullptr) return;
  check(block);
  // A free block's words must not look like a live one's.
  *static_cast<Stamp*>(block) = {~uint64_t{0}, 0};
  talus::core::free_block(block);
}
// realloc of a filled block; what both sizes hold must have survived.
inline void* resize_filled(void* block, size_t bytes, Random& random) {
  if (bytes < stamp_bytes_min) bytes = stamp_bytes_min;
  const size_t old_bytes = check(block);
  const uint64_t seed = static_cast<Stamp*>(block)->seed;
  void* moved = talus::core::reallocate(block, bytes);
  STRESS_CHECK(moved != nullptr, "no memory for %zu bytes", bytes);
  const size_t kept = (old_bytes < bytes ? old_bytes : bytes) / sizeof(uint64_t);
  const size_t step = old_bytes <= 4 * kib ? 1 : 509;  // where fill() wrote
  for (size_t i = 2; i < kept; i += step) {
    const uint64_t word = static_cast<uint64_t*>(moved)[i];
    STRESS_CHECK(word == (seed ^ (i << 20)), "word %zu, %zu to %zu bytes", i, old_bytes, bytes);
  }
  fill(moved, bytes, random.next());
  return moved;
}

// Places where threads leave blocks for each other.
template <size_t count>
struct Exchange {
  talus::core::Atomic<void*> slots[count];
  // Leaves a block (or null) and takes what was there.
  void* swap(Random& random, void* block) {
    return slots[random.below(count)].exchange_acq_rel(block);
  }
  void empty() {
    for (auto& slot : slots) check_and_release(slot.exchange_acq_rel(nullptr));
  }
};

// Runs body(index) on `count` threads and waits for all. `stack_bytes` 0: the default.
template <typename Body>
class Threads {
 public:
  static constexpr int most = 512;
  Threads(int count, Body body, size_t stack_bytes = 0) : count_{count}, body_{body} {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0) {
      STRESS_CHECK(pthread_attr_setstacksize(&attributes, stack_bytes) == 0, "%zu", stack_bytes);
    }
    for (int i = 0; i < count; i++) {
      parts_[i] = {this, i, {}};
      const int error = pthread_create(&parts_[i].thread, &attributes, enter, &parts_[i]);
      STRESS_CHECK(error == 0, "thread %d: %s", i, strerror(error));
    }
    pthread_attr_destroy(&attributes);
  }
  ~Threads() {
    for (int i = 0; i < count_; i++) pthread_join(parts_[i].thread, nullptr);
  }

 private:
  struct Part {
    Threads* all;
    int index;
    pthread_t thread;
  };
  static void* enter(void* part) {
    static_cast<Part*>(part)->all->body_(static_cast<Part*>(part)->index);
    return nullptr;
  }
  int count_;
  Body body_;
  Part parts_[most];
};
template <typename Body>
void run_threads(int count, Body body, size_t stack_bytes = 0) {
  Threads<Body> threads{count, body, stack_bytes};
}

}  // namespace stress

#endif  // TALUS_TESTS_STRESS_STRESS_HPP
