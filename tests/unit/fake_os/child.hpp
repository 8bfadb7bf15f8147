// SPDX-License-Identifier: MIT
// tests/unit/fake_os/child: each case runs in a process of its own.
//
// Owns: a page that parent and child share, in which the child says what happened. A faulty kernel
// leaves traces for good: addresses that could not be unmapped, the page size that is read once. So
// every case starts with an unused heap. The parent never allocates from Talus. A child that
// aborts, crashes or hangs is told from one that found something wrong.
// Called on: the test's main thread; require() in the child, on any of its threads.
#ifndef TALUS_TESTS_UNIT_FAKE_OS_CHILD_HPP
#define TALUS_TESTS_UNIT_FAKE_OS_CHILD_HPP

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "os/os.hpp"
#include "space/provider.hpp"

#if !TALUS_FAKE_OS
#error "these tests are about the fake operating system"
#endif

namespace talus::core::test {

inline constexpr size_t call_kinds = static_cast<size_t>(os::FakeCall::count);

// What a child leaves behind. Plain data in shared memory.
struct ChildReport {
  char wrong[200];             // the first thing that was not as it must be
  uint64_t calls[call_kinds];  // that the child made, by kind
  uint64_t refused_count;      // allocations that gave null
  uint64_t measured[4];        // whatever a test wants to know of its child
};

inline ChildReport& child_report() {
  static void* shared =
      mmap(nullptr, sizeof(ChildReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<ChildReport*>(shared);
}

// In the child: ends it at the first thing that is wrong.
inline void require(bool holds, const char* what, size_t number = 0) {
  if (holds) return;
  snprintf(child_report().wrong, sizeof child_report().wrong, "%s (%zu)", what, number);
  _exit(1);
}

inline size_t row_of(os::FakeCall kind) { return static_cast<size_t>(kind); }

// From here on the kernel maps nothing more.
inline void refuse_maps() {
  const size_t row = row_of(os::FakeCall::map);
  os::fake_plan.refuse_from[row].store_relaxed(os::fake_plan.calls[row].load_relaxed() + 1);
}

// What a provider of a test reserves, whatever is asked for.
inline ProvidedRange reserve_some(size_t, size_t) noexcept {
  constexpr size_t bytes = 64 * mib;
  void* at = os::map_aligned(nullptr, bytes, arena_alignment);
  return {reinterpret_cast<uintptr_t>(at), at == nullptr ? 0 : bytes};
}

// From now on addresses stay mapped, as where giving them back would take another mapping.
inline void refuse_unmaps() {
  os::fake_plan.refuse_from[row_of(os::FakeCall::unmap)].store_relaxed(1);
}
// Has the kernel a page of memory there, at an address that is mapped?
inline bool is_resident(const void* at) {
  void* const page =
      reinterpret_cast<void*>(round_down(reinterpret_cast<uintptr_t>(at), os::page_bytes()));
  unsigned char is_in = 0;
  require(mincore(page, 1, &is_in) == 0, "the address is mapped no more");
  return (is_in & 1) != 0;
}

// From here on the kernel is well again; the counts of calls go on.
inline void end_faults() {
  for (size_t row = 0; row < call_kinds; row++) {
    os::fake_plan.refuse_at[row].store_relaxed(0);
    os::fake_plan.refuse_from[row].store_relaxed(0);
    os::fake_plan.refuse_every[row].store_relaxed(0);
  }
}

// Runs work() in a child. Empty: all went well; else what did not.
template <typename Work>
std::string run_in_child(Work work) {
  ChildReport& report = child_report();
  report = ChildReport{};
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return "fork failed";
  if (child == 0) {
    alarm(60);
    work();
    for (size_t row = 0; row < call_kinds; row++) {
      report.calls[row] = os::fake_plan.calls[row].load_relaxed();
    }
    _exit(0);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) return "waitpid failed";
  if (WIFSIGNALED(status)) return std::string{"died of: "} + strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  const bool has_said = report.wrong[0] != '\0';
  return has_said ? report.wrong : "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_FAKE_OS_CHILD_HPP
