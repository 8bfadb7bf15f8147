// SPDX-License-Identifier: MIT
// tests/death/faults: the messages for misuse, and the check that a statement ends with one.
//
// Owns: the wording as a user reads it, written out a second time on purpose: a changed word in
// os/report.hpp must fail here. Invariant: a child of a fork runs the faulty statement, so the
// addresses in the expected text may be taken before. Called on: a test's main thread.
#ifndef TALUS_TESTS_DEATH_FAULTS_HPP
#define TALUS_TESTS_DEATH_FAULTS_HPP

#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include <atomic>
#include <string>
#include <thread>

#include "effort.hpp"
#include "said.hpp"

#include "api/entry.hpp"
#include "entry/life.hpp"
#include "inspect/totals.hpp"
#include "paths/free_slow.hpp"

namespace talus::core::test {

// Then no program ends by SIGSEGV.
inline constexpr bool sanitizer_handles_faults = under_asan || under_tsan;

inline std::string hex(const void* pointer) {
  char text[32];
  snprintf(text, sizeof text, "0x%zx", reinterpret_cast<size_t>(pointer));
  return text;
}

inline std::string double_free_text(const void* pointer, size_t block_bytes) {
  return "talus: double free of " + hex(pointer) + " (a free block of " +
         std::to_string(block_bytes) + " bytes)\n";
}

inline std::string interior_text(const void* pointer, const void* block, size_t block_bytes) {
  const size_t offset = reinterpret_cast<size_t>(pointer) - reinterpret_cast<size_t>(block);
  return "talus: invalid free of " + hex(pointer) + " (not the start of a block; it points " +
         std::to_string(offset) + " bytes into " + std::to_string(block_bytes) + " bytes at " +
         hex(block) + ")\n";
}

inline std::string foreign_text(const void* pointer, const char* call) {
  return "talus: invalid pointer " + hex(pointer) + " passed to " + call +
         "() (not a block of this heap: freed twice, or from another allocator)\n";
}
inline std::string freed_text(const void* pointer, size_t block_bytes, const char* call) {
  return "talus: use of the freed block " + hex(pointer) + " in " + call + "() (a free block of " +
         std::to_string(block_bytes) + " bytes)\n";
}
inline std::string dead_heap_text(const void* handle, const char* call) {
  return "talus: invalid heap " + hex(handle) + " passed to " + call +
         "() (destroyed, or never made)\n";
}

// The cache of this thread, made if there is none yet.
inline ThreadCache& own_cache() {
  api::free(api::malloc(1));
  return *cache_behind(current_context());
}

// A pointer the compiler knows nothing about, so that it warns of none of the faults.
template <typename Type>
void* hide(Type* pointer) {
  void* hidden = const_cast<void*>(static_cast<const void*>(pointer));
  asm volatile("" : "+r"(hidden));
  return hidden;
}

// Rounds of a test that begins a thread in each. In qemu a thread costs five context switches. On a
// busy machine each of them waits for a processor, and 3000 rounds took minutes.
constexpr int thread_rounds(int rounds) { return may_be_emulated ? rounds / 10 : rounds; }

template <typename Work>
void on_another_thread(Work work) {
  std::thread(work).join();
}

// Two threads act at the same instant, as far as two processors can.
template <typename First, typename Second>
void at_once(First first, Second second) {
  std::atomic<int> ready{0};
  const auto wait = [&ready] {
    ready++;
    while (ready.load() < 2) {}
  };
  std::thread other([&] {
    own_cache();
    wait();
    second();
  });
  wait();
  first();
  other.join();
}

inline void leave_no_core_file() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// For a child that begins a mode: slabs from before it have no states, so each class begins anew.
inline void begin_classes_anew() {
  leave_no_core_file();
  own_cache();
  flush_lists(own_cache());
  return_unused(*own_cache().heap);
}

}  // namespace talus::core::test

// The statement ends the process by SIGABRT and says exactly this text, nothing before or after.
#define EXPECT_FAULT(text, ...)                  \
  EXPECT_EXIT(                                   \
      {                                          \
        talus::core::test::leave_no_core_file(); \
        __VA_ARGS__;                             \
      },                                         \
      testing::KilledBySignal(SIGABRT), talus::core::test::said(text))

#endif  // TALUS_TESTS_DEATH_FAULTS_HPP
