// SPDX-License-Identifier: MIT
// tests/unit/own_os/os/system: the machine as an operating system of the contract.
//
// Stands before src/os/system.hpp, as a port's own does. Owns: nothing; the core calls and no
// group. A test compiles it without each of the core calls in turn (tests/os/missing_test.py).
#ifndef TALUS_TESTS_UNIT_OWN_OS_OS_SYSTEM_HPP
#define TALUS_TESTS_UNIT_OWN_OS_OS_SYSTEM_HPP

#include "os/complete.hpp"
#include "os/machine.hpp"

namespace talus::core::os {

struct MachineOs {
  static constexpr bool has_huge_pages = false, has_residency = false, has_purge_runs = false;
  static constexpr bool has_moving = false, has_guards = false, has_barrier = false;
  static constexpr bool has_threads = false, has_signals = false, has_files = false;
  static constexpr bool has_printing = false, has_file_memory = false, has_populate = false;
  static constexpr bool has_nodes = false, has_names = false, has_page_watch = false;
  static constexpr bool has_usage = false, has_frames = false;

  static constexpr long not_permitted = -1;
  static constexpr long interrupted = -2;
  static constexpr long try_again = -3;
  static constexpr long no_memory = -4;
  static constexpr long there_is_one = -5;
  static constexpr long no_such_call = -6;

  static size_t page_bytes() noexcept { return test::Machine::page_bytes; }
  static void* map(void* hint, size_t bytes) noexcept { return test::machine.map(hint, bytes); }
  static bool unmap(void* at, size_t bytes) noexcept { return test::machine.unmap(at, bytes); }
  static bool purge(void* at, size_t bytes) noexcept { return test::machine.purge(at, bytes); }
  static bool is_purge_broken() noexcept { return false; }
  static void* reserve(size_t bytes) noexcept { return test::machine.reserve(bytes); }
  static bool allow(void* at, size_t bytes) noexcept { return test::machine.allow(at, bytes); }
  static bool decommit(void* at, size_t bytes) noexcept {
    return test::machine.decommit(at, bytes);
  }

  static uint64_t now_ms() noexcept { return test::machine.now_ns() / 1000000; }
  static uint64_t now_ns() noexcept { return test::machine.now_ns(); }
  static void sleep_us(long microseconds) noexcept {
    test::machine.pass_ms(static_cast<uint64_t>(microseconds) / 1000 + 1);
  }

  // The one thread would wait for itself.
  static uint32_t thread_mark() noexcept { return 2; }
  static bool has_one_thread() noexcept { return true; }
  static uint32_t thread_id() noexcept { return 1; }
  static void futex_wait(uint32_t*, uint32_t) noexcept { test::Machine::fail("a wait for ever"); }
  static void futex_wake_one(uint32_t*) noexcept {}

  static size_t cpu_count() noexcept { return 1; }
  static uint64_t random_bits() noexcept { return 4711; }
  static bool is_secure() noexcept { return false; }
  static long process_id() noexcept { return 1; }
  static uint64_t address_bytes_max() noexcept { return ~uint64_t{0}; }
  static void write_error(const char* text, size_t bytes) noexcept {
    std::fwrite(text, 1, bytes, stderr);
  }
  static void note_report() noexcept {}
};

using System = Complete<MachineOs>;

}  // namespace talus::core::os

#endif  // TALUS_TESTS_UNIT_OWN_OS_OS_SYSTEM_HPP
