// SPDX-License-Identifier: MIT
// os/refusals: the calls of each group for an operating system that does not have the group.
//
// Owns: what each of them answers, which is what a kernel that refuses answers. Contract:
// os/contract.hpp. Called on: any thread, at any time. Must not know: any operating system, but its
// error numbers.
#ifndef TALUS_OS_REFUSALS_HPP
#define TALUS_OS_REFUSALS_HPP

#include "base/base.hpp"
#include "arch/clone.hpp"
#include "os/arguments.hpp"

namespace talus::core::os {

template <class Os>
struct NoHugePages {
  static void advise_huge(void*, size_t) noexcept {}
  static void advise_small(void*, size_t) noexcept {}
};

template <class Os>
struct NoResidency {
  static bool look_for_pages(const void*, size_t, unsigned char*) noexcept { return false; }
};

template <class Os>
struct NoPurgeRuns {
  static size_t purge_runs(const PageRun*, size_t) noexcept { return 0; }
};

template <class Os>
struct NoMoving {
  static size_t move_pages(void*, void*, size_t) noexcept { return 0; }
  static bool map_anew(void*, size_t) noexcept { return false; }
};

template <class Os>
struct NoGuards {
  static bool set_guards(void*, size_t) noexcept { return false; }
  static bool lift_guards(void*, size_t) noexcept { return false; }
};

template <class Os>
struct NoBarrier {
  static bool order_threads() noexcept { return false; }
};

// Those behind make_thread are never reached: no thread is made.
template <class Os>
struct NoThreads {
  static long make_thread(void*, arch::ThreadBlock&, uint32_t*, void (*)()) noexcept {
    return Os::no_such_call;
  }
  [[noreturn]] static void end_thread() noexcept { __builtin_trap(); }
  static void futex_wait_ms(uint32_t*, uint32_t, uint32_t) noexcept {}
  static void wait_for_thread(uint32_t*, uint32_t) noexcept {}
  static void wait_until_gone(uint32_t) noexcept {}
  static void become_ordinary_thread(const char*) noexcept {}
  static uint64_t thread_count_max() noexcept { return 0; }
  static size_t task_count() noexcept { return 0; }
  static bool protect(void*, size_t) noexcept { return false; }
  static bool clear_in_children(void*, size_t) noexcept { return false; }
};

template <class Os>
struct NoSignals {
  static uint64_t block_signals() noexcept { return 0; }
  static void restore_signals(uint64_t) noexcept {}
  static void send_here(int) noexcept {}
};

template <class Os>
struct NoFiles {
  static long open_file(const char*) noexcept { return Os::no_such_call; }
  static long read_file(long, char*, size_t) noexcept { return Os::no_such_call; }
  static bool look_at_file(long, FileFacts&) noexcept { return false; }
  static long read_link(const char*, char*, size_t) noexcept { return Os::no_such_call; }
  static void close_file(long) noexcept {}
};

template <class Os>
struct NoPrinting {
  static long open_to_write(const char*, FileStart) noexcept { return Os::no_such_call; }
  static long find_end(long) noexcept { return Os::no_such_call; }
  static long write_quietly(long, const char*, size_t) noexcept { return Os::no_such_call; }
  static bool wait_to_write(long, uint64_t) noexcept { return false; }
  static bool may_be_replaced(const char*) noexcept { return false; }
  static bool rename(const char*, const char*) noexcept { return false; }
  static bool remove_name(const char*) noexcept { return false; }
  static long try_lock(long) noexcept { return Os::no_such_call; }
  static void unlock(long) noexcept {}
};

template <class Os>
struct NoFileMemory {
  static long open_unnamed_in(const char*) noexcept { return Os::no_such_call; }
  static long open_unlinked(const char*) noexcept { return Os::no_such_call; }
  static long move_up(long file) noexcept { return file; }
  static bool identify(long, FileIdentity&) noexcept { return false; }
  static uint64_t length_max() noexcept { return 0; }
  static bool set_length(long, uint64_t) noexcept { return false; }
  static bool reserve_room(long, uint64_t, size_t) noexcept { return false; }
  static bool give_room_back(long, uint64_t, size_t) noexcept { return false; }
  static bool write_at(long, const void*, size_t, uint64_t) noexcept { return false; }
  static bool map_file(void*, size_t, long, uint64_t, FileSharing) noexcept { return false; }
  static char* map_file_again(size_t, long, uint64_t) noexcept { return nullptr; }
  static bool move_over(void*, void*, size_t) noexcept { return false; }
  static bool current_directory(char*, size_t) noexcept { return false; }
  static bool make_pipe(int (&)[2]) noexcept { return false; }
  static void wait_for_letter(long) noexcept {}
  static void send_letter(long) noexcept {}
};

template <class Os>
struct NoPopulate {
  static bool populate(void*, size_t, size_t) noexcept { return false; }
};

template <class Os>
struct NoNodes {
  static long prefer_node(void*, size_t, size_t) noexcept { return Os::no_such_call; }
};

template <class Os>
struct NoNames {
  static void name_mapping(void*, size_t, const char*) noexcept {}
  static void admit_observers() noexcept {}
};

template <class Os>
struct NoPageWatch {
  static void announce(void*, size_t) noexcept {}
};

template <class Os>
struct NoUsage {
  static bool look_at_usage(ProcessUsage&) noexcept { return false; }
};

template <class Os>
struct NoFrames {
  static bool is_readable(const void*) noexcept { return false; }
  static uintptr_t first_stack_end() noexcept { return 0; }
  static uintptr_t kernel_image() noexcept { return 0; }
  static uintptr_t program_image() noexcept { return 0; }
  static uintptr_t libc_function(const char*) noexcept { return 0; }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_REFUSALS_HPP
