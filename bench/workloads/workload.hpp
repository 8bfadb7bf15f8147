// The base of every workload: arguments, random numbers, threads, clock, checks, result.
//
// Owns: the parts that all benchmark programs must share, so that their figures are comparable.
// Invariants: a workload gets its memory through take() and give() alone, which the compiler cannot
// pair up and remove. Every block carries a stamp that its owner checks before the free. The last
// line on stdout is one JSON object (class Result of result.hpp).
// Nothing here allocates, so the allocator under test sees the workload's requests only. Threads
// are raw pthreads for the same reason.
// It must not know any allocator except by the names a preloaded library may export.
// Exit status: 0 success, 2 wrong arguments, 70 a block held wrong data, 71 no memory.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "trim.hpp"

namespace bench {

inline constexpr int exit_wrong_arguments = 2;
inline constexpr int exit_wrong_data = 70;
inline constexpr int exit_no_memory = 71;
inline constexpr size_t threads_max = 256;
inline constexpr size_t stamp_stride_bytes = 4096;  // one touch per page commits all of a block

[[noreturn]] inline void leave(int status, const char* reason) {
  std::fprintf(stderr, "benchmark failed: %s\n", reason);
  std::fflush(stdout);
  _exit(status);
}

// ---- memory -------------------------------------------------------------------------------------

// The empty asm makes the pointer escape. Without it a compiler may delete a malloc/free pair.
inline void* take(size_t bytes) {
  void* block = std::malloc(bytes);
  __asm__ volatile("" : "+r"(block) : : "memory");
  if (block == nullptr && bytes != 0) leave(exit_no_memory, "malloc returned null");
  return block;
}

inline void give(void* block) {
  __asm__ volatile("" : "+r"(block) : : "memory");
  std::free(block);
}

// The other allocation functions, for the workloads that measure them.
inline void* take_zeroed(size_t bytes) {
  void* block = std::calloc(1, bytes);
  __asm__ volatile("" : "+r"(block) : : "memory");
  if (block == nullptr && bytes != 0) leave(exit_no_memory, "calloc returned null");
  return block;
}

inline void* take_aligned(size_t alignment, size_t bytes) {
  void* block = nullptr;
  const int status = posix_memalign(&block, alignment, bytes);
  __asm__ volatile("" : "+r"(block) : : "memory");
  if (status != 0) leave(exit_no_memory, "posix_memalign refused");
  if (reinterpret_cast<uintptr_t>(block) % alignment != 0) {
    leave(exit_wrong_data, "a block is not aligned as asked");
  }
  return block;
}

inline void* resize(void* block, size_t bytes) {
  __asm__ volatile("" : "+r"(block) : : "memory");
  block = std::realloc(block, bytes);
  __asm__ volatile("" : "+r"(block) : : "memory");
  if (block == nullptr && bytes != 0) leave(exit_no_memory, "realloc returned null");
  return block;
}

template <class Element>
Element* take_array(size_t count) {
  return static_cast<Element*>(take(count * sizeof(Element)));
}

// ---- random numbers -----------------------------------------------------------------------------

// SplitMix64: a counter with a finalizer. Every seed is good, streams differ by seed, and the state
// has no fixed point. (A xorshift stuck at zero made one published benchmark void.)
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567u) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, limit); limit below 2^32. Multiply and shift: no division in a timed loop.
  uint32_t below(uint64_t limit) { return static_cast<uint32_t>(((next() >> 32) * limit) >> 32); }

 private:
  uint64_t state_;
};

template <class Element>
void shuffle(Element* elements, size_t count, Random& random) {
  for (size_t left = count; left > 1; left--) {
    const size_t other = random.below(left);
    const Element kept = elements[left - 1];
    elements[left - 1] = elements[other];
    elements[other] = kept;
  }
}

// ---- stamps: cheap proof that a block still has one owner only ---------------------------------

inline uint32_t tag_of(uint64_t identity) {
  return static_cast<uint32_t>((identity * 0x9E3779B97F4A7C15u) >> 32) | 1u;
}

// Writes the tag at the start, one byte of it per page, and one at the end. A block with two owners
// loses its start. A neighbour that overlaps it changes its end or loses its own start.
inline void stamp(void* block, size_t bytes, uint32_t tag) {
  auto* data = static_cast<unsigned char*>(block);
  if (bytes == 0) return;
  for (size_t at = stamp_stride_bytes; at < bytes; at += stamp_stride_bytes) {
    data[at] = static_cast<unsigned char>(tag >> 8);
  }
  data[bytes - 1] = static_cast<unsigned char>(tag >> 16);
  if (bytes > sizeof tag) std::memcpy(data, &tag, sizeof tag);
}

inline void check_stamp(const void* block, size_t bytes, uint32_t tag) {
  const auto* data = static_cast<const unsigned char*>(block);
  if (bytes == 0) return;
  bool is_intact = data[bytes - 1] == static_cast<unsigned char>(tag >> 16);
  if (bytes > sizeof tag) {
    is_intact = is_intact && std::memcmp(data, &tag, sizeof tag) == 0;
  }
  for (size_t at = stamp_stride_bytes; at + 1 < bytes; at += stamp_stride_bytes) {
    is_intact = is_intact && data[at] == static_cast<unsigned char>(tag >> 8);
  }
  if (!is_intact) leave(exit_wrong_data, "a block lost its stamp: blocks overlap");
}

// A stamped block and its expected stamp: the slot of most workloads.
struct Slot {
  void* block;
  uint32_t bytes;
  uint32_t tag;

  void fill(size_t new_bytes, uint32_t new_tag) {
    bytes = static_cast<uint32_t>(new_bytes);
    tag = new_tag;
    block = take(new_bytes);
    stamp(block, new_bytes, new_tag);
  }

  // Emptying an empty slot is allowed: free accepts a null block.
  void empty() {
    if (block != nullptr) check_stamp(block, bytes, tag);
    give(block);
    block = nullptr;
  }
};

// ---- clock, gate, threads -----------------------------------------------------------------------

inline double now_s() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

inline void sleep_s(double seconds) {
  timespec left;
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  while (nanosleep(&left, &left) != 0) {}
}

inline size_t cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<size_t>(count) : 1;
}

// Holds all threads at the start line, so that thread creation is not measured.
class StartGate {
 public:
  // For workers: arrive after preparing, return when the gate opens.
  void wait() {
    shared_arrived_.fetch_add(1, std::memory_order_acq_rel);
    while (!shared_is_open_.load(std::memory_order_acquire)) sched_yield();
  }

  // For the starter: waits until all are prepared, opens, and returns the time of opening.
  double open(size_t threads) {
    while (shared_arrived_.load(std::memory_order_acquire) < threads) sleep_s(0.001);
    sleep_s(0.010);
    const double opened_s = now_s();
    shared_is_open_.store(true, std::memory_order_release);
    return opened_s;
  }

 private:
  std::atomic<size_t> shared_arrived_{0};
  std::atomic<bool> shared_is_open_{false};
};

// Threads that run body(index) for index 0..threads-1.
template <class Body>
class Team {
 public:
  Team(size_t threads, Body& body) : threads_(threads) {
    for (size_t index = 0; index < threads_; index++) {
      members_[index] = {&body, index};
      if (pthread_create(&ids_[index], nullptr, &Team::enter, &members_[index]) != 0) {
        leave(exit_no_memory, "pthread_create failed");
      }
    }
  }

  void join() {
    for (size_t index = 0; index < threads_; index++) pthread_join(ids_[index], nullptr);
  }

 private:
  struct Member {
    Body* body;
    size_t index;
  };

  static void* enter(void* argument) {
    auto* member = static_cast<Member*>(argument);
    (*member->body)(member->index);
    return nullptr;
  }

  size_t threads_;
  Member members_[threads_max];
  pthread_t ids_[threads_max];
};

// A number that one thread writes and others sample, alone on its cache lines. It has two lines,
// because processors fetch lines in pairs. A shared counter would measure itself.
struct alignas(128) PaddedCounter {
  std::atomic<int64_t> shared_value{0};

  void add(int64_t value) { set(get() + value); }  // the writing thread only
  void set(int64_t value) { shared_value.store(value, std::memory_order_relaxed); }
  int64_t get() const { return shared_value.load(std::memory_order_relaxed); }
};

// ---- arguments ----------------------------------------------------------------------------------

// --after-free 1: the result includes the resident memory 1 s and 10 s after the last free.
inline bool after_free_is_wanted = false;

// --name value pairs. The program asks for every known option before finish(), which refuses the
// rest.
class Arguments {
 public:
  Arguments(int count, char** values) : count_(count), values_(values) {
    for (int at = 0; at < options_max; at++) is_known_[at] = false;
    if (count > options_max) leave(exit_wrong_arguments, "too many arguments");
    after_free_is_wanted = std::strcmp(text("after-free", "0"), "0") != 0;
  }

  const char* text(const char* name, const char* fallback) {
    const char* found = fallback;
    for (int at = 1; at + 1 < count_; at += 2) {
      const char* option = values_[at];
      if (std::strncmp(option, "--", 2) != 0 || std::strcmp(option + 2, name) != 0) continue;
      is_known_[at] = true;
      found = values_[at + 1];
    }
    return found;
  }

  double real(const char* name, double fallback) {
    const char* given = text(name, nullptr);
    if (given == nullptr) return fallback;
    char* end = nullptr;
    const double value = std::strtod(given, &end);
    if (end == given || *end != '\0' || !(value > 0)) {
      std::fprintf(stderr, "--%s: not a number above zero: %s\n", name, given);
      leave(exit_wrong_arguments, "wrong argument");
    }
    return value;
  }

  size_t count(const char* name, size_t fallback) {
    const double value = real(name, static_cast<double>(fallback));
    return value < 1 ? 1 : static_cast<size_t>(value);
  }

  size_t threads(size_t fallback) {
    const size_t value = count("threads", fallback);
    if (value > threads_max) leave(exit_wrong_arguments, "too many threads");
    return value;
  }

  void finish() const {
    for (int at = 1; at < count_; at += 2) {
      if (is_known_[at] && at + 1 < count_) continue;
      std::fprintf(stderr, "unknown option, or no value for it: %s\n", values_[at]);
      leave(exit_wrong_arguments, "wrong argument");
    }
  }

 private:
  static constexpr int options_max = 64;

  int count_;
  char** values_;
  bool is_known_[options_max];
};

// Multiplies a default amount of work by --scale; at least one.
inline size_t scaled(double amount, double scale) {
  const double value = amount * scale;
  return value < 1 ? 1 : static_cast<size_t>(value);
}

}  // namespace bench

#include "result.hpp"
