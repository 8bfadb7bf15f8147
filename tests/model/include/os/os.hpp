// SPDX-License-Identifier: MIT
// model/include/os/os: the part of the operating system that the modelled protocols call.
//
// Stands before src/os/os.hpp. Owns: the futex. The kernel compares the word and goes to sleep in
// one step, under a lock of its own. A sleeper may return early, as the contract of the shipped one
// says. Called on: fibers.
#ifndef TALUS_OS_OS_HPP
#define TALUS_OS_OS_HPP

#include "arch/arch.hpp"
#include "os/report.hpp"

namespace model {

// Whether the C library says that the process has one thread. Scenarios with more say no.
inline bool says_one_thread = false;

}  // namespace model

namespace talus::core::os {

struct System {
  static bool has_one_thread() noexcept { return model::says_one_thread; }
  static uint32_t thread_mark() noexcept {
    return static_cast<uint32_t>(model::explorer.current()) * 4 + 2;
  }
  static void futex_wait(uint32_t* word, uint32_t value) noexcept {
    model::Explorer& explorer = model::explorer;
    explorer.point();
    explorer.note("futex_wait", word, value);
    if (*word != value) return;
    if (explorer.early_returns < explorer.bounds().early_returns && explorer.choose(2) == 1) {
      explorer.early_returns++;
      return;
    }
    explorer.sleep_on(word);
  }
  static void futex_wake_one(uint32_t* word) noexcept {
    model::explorer.point();
    model::explorer.note("futex_wake", word, 1);
    model::explorer.wake_one(word);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_OS_HPP
