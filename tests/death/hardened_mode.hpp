// SPDX-License-Identifier: MIT
// tests/death/hardened_mode: a child that begins the hardened mode, and how it must end.
//
// Owns: nothing. The mode begins in the child that is to die, as in checked_blocks_test.
#ifndef TALUS_TESTS_DEATH_HARDENED_MODE_HPP
#define TALUS_TESTS_DEATH_HARDENED_MODE_HPP

#include <string>

#include "faults.hpp"
#include "process/start.hpp"

namespace talus::core::test {

inline const std::string place_text = "0x[0-9a-f]+";

inline void begin_hardened() {
  begin_classes_anew();
  options.mode = HeapMode::hardened;
  hardened::begin();
  start_mapped();
}

// A block of a slab with states, or one with pages of its own.
inline void* protected_by(void* (*make)(size_t), size_t bytes) {
  for (int tries = 0; tries < 5000; tries++) {
    void* block = hide(make(bytes));
    const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
    if (!word.is_slab() || checked::slab_at(block).states != nullptr) return block;
  }
  return nullptr;
}
inline char* hard_block(size_t bytes) {
  return static_cast<char*>(protected_by(api::malloc, bytes));
}

}  // namespace talus::core::test

#define EXPECT_HARD_END(ending, text, ...) \
  EXPECT_EXIT(                             \
      {                                    \
        begin_hardened();                  \
        __VA_ARGS__;                       \
        _exit(0);                          \
      },                                   \
      ending, text)
#define EXPECT_HARD_STOP(text, ...) \
  EXPECT_HARD_END(testing::KilledBySignal(SIGABRT), said_like(text), __VA_ARGS__)
#define EXPECT_HARD_FAULT(...) EXPECT_HARD_END(testing::KilledBySignal(SIGSEGV), "", __VA_ARGS__)
#define EXPECT_HARD_PASS(...) EXPECT_HARD_END(testing::ExitedWithCode(0), "", __VA_ARGS__)

#endif  // TALUS_TESTS_DEATH_HARDENED_MODE_HPP
