// SPDX-License-Identifier: MIT
// fuzz/thread: what each thread of the program knows about itself.
//
// Owns: the rows of all threads, the numbers they draw, and their journals of the last calls. Owns
// called(): each call of the library goes through it, and it checks errno afterwards.
// Called on: each thread for its own row. Others read what is atomic, and a failure reads all.
#ifndef TALUS_TESTS_FUZZ_THREAD_HPP
#define TALUS_TESTS_FUZZ_THREAD_HPP

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <atomic>
#include <type_traits>

#include "settings.hpp"
#include "talus/bounded.h"

namespace fuzz {

inline uint64_t mix_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The same numbers in every run for a given seed. Each step begins a row of its own, so that a step
// in which less was drawn, since a call failed, does not change all that follow.
class Random {
 public:
  void start(uint64_t seed) {
    seed_ = mix_bits(seed + 1);
    start_step(0);
  }
  void start_step(uint64_t number) { state_ = mix_bits(seed_ ^ mix_bits(number + 1)); }
  uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }
  // 0 where nothing is below the bound.
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(next() % bound); }

 private:
  uint64_t seed_ = 0;
  uint64_t state_ = 0;
};

inline double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One call, as a failure prints it.
struct Entry {
  const char* call;
  const void* pointer;
  size_t first;
  size_t second;
  const void* result;
};

enum class Life : int { none, starting, running, over };

constexpr int bounded_count = 3;
constexpr int signal_block_count = 8;
constexpr size_t journal_length = 48;
constexpr int thread_count_max = worker_count_max + 1;  // the main one is the first

struct Thread {
  // Constant while the thread runs.
  uint32_t id = 0;
  pthread_t handle{};
  bool prefers_small = false;

  // This thread only.
  Random random;
  int error = 0;  // errno after the last called()
  int handler_depth = 0;
  long budget = 0;  // steps that it lives for
  uint64_t step_number = 0;
  Entry journal[journal_length] = {};
  size_t journal_end = 0;
  struct Cache {
    talus_bounded_cache* cache;
    uint32_t generation;  // of the instance it was made for
  } caches[bounded_count] = {};

  // This thread and its handler of signals: what the handler allocated.
  void* signal_blocks[signal_block_count] = {};
  size_t signal_bytes[signal_block_count] = {};
  // In the program's own loops, where a signal finds no lock of the library taken.
  volatile bool is_interruptible = false;

  // Shared: others read.
  const char* volatile doing = "";
  std::atomic<uint64_t> progress{0};  // for the watchdog
  std::atomic<Life> life{Life::none};
  std::atomic<int> os_id{0};
};

extern Thread threads[thread_count_max];
inline __thread Thread* this_thread;
inline Thread& self() { return *this_thread; }

inline size_t draw(size_t bound) { return self().random.below(bound); }
inline bool one_in(size_t count) { return draw(count) == 0; }

struct Interruptible {
  Interruptible() { self().is_interruptible = true; }
  ~Interruptible() { self().is_interruptible = false; }
};

// No error has this number, so a call that stores one is noticed.
constexpr int untouched_errno = 3333;

// Calls the library; errno is in self().error from here on.
template <typename Call>
inline auto called(Call call) {
  errno = untouched_errno;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    self().error = errno;
  } else {
    auto result = call();
    self().error = errno;
    return result;
  }
}

inline void note(const char* call, const void* pointer, size_t first, size_t second,
                 const void* result) {
  Thread& thread = self();
  thread.journal[thread.journal_end++ % journal_length] = {call, pointer, first, second, result};
}

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_THREAD_HPP
