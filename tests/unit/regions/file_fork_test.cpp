// SPDX-License-Identifier: MIT
// tests/unit/regions/file_fork: heaps in files through forks.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "arch/arch.hpp"
#include "api/heaps.hpp"
#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

talus_heap* heap_in_file(unsigned flags) {
  talus_provider request{};
  request.kind = TALUS_PROVIDER_FILE;
  request.bytes = 4 * mib;
  request.flags = flags;
  request.directory = "/tmp";
  talus_heap_options options{};
  options.provider = &request;
  return api::heap_new(&options);
}

// Runs work() in a child of fork(), which exits with what that returns. The child's status.
template <typename Work>
int status_of_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// Calls check(heap, block) for a heap in a file of each kind, with a block of block_bytes in it.
constexpr size_t block_bytes = 200000;
template <typename Check>
void check_in_files(Check check) {
  test::begin_forks();
  for (const unsigned flags : {0u, TALUS_PROVIDER_GROW}) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, flags);
    talus_heap* heap = heap_in_file(flags);
    auto* block = static_cast<char*>(api::heap_malloc(heap, block_bytes));
    test::fill_pattern(block, block_bytes, 1);
    check(heap, block);
    api::heap_destroy(heap);
  }
}

// A child's heap in a file is a copy.
TEST(FileFork, IsNoSharing) {
  check_in_files([](talus_heap* heap, char* block) {
    const int status = status_of_child([=] {
      bool is_well = test::has_pattern(block, block_bytes, 1);
      test::fill_pattern(block, block_bytes, 2);
      api::heap_free(heap, block);
      for (int i = 0; i < 100; i++) is_well = is_well && api::heap_malloc(heap, 10000) != nullptr;
      api::heap_destroy(heap);
      return is_well ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(test::has_pattern(block, block_bytes, 1));
    EXPECT_EQ(api::heap_stats(heap).live_blocks, 1u);
  });
}

// The file that is mapped at an address; with 0: is that file mapped anywhere in these addresses?
unsigned long file_at(uintptr_t address, unsigned long looked_for = 0) {
  FILE* maps = fopen("/proc/self/maps", "r");
  unsigned long found = 0, from = 0, to = 0, number = 0;
  while (found == 0 && fscanf(maps, "%lx-%lx %*s %*s %*s %lu%*[^\n]", &from, &to, &number) == 3) {
    const bool is_meant = looked_for == 0 ? address >= from && address < to : number == looked_for;
    if (is_meant) found = number;
  }
  fclose(maps);
  return found;
}

// Else the disk would have both as long as the child lives.
TEST(FileFork, TheChildLetsGoOfItsParentsFile) {
  check_in_files([](talus_heap*, char* start) {
    const uintptr_t block = reinterpret_cast<uintptr_t>(start);
    const unsigned long parents = file_at(block);
    ASSERT_NE(parents, 0u);
    const int status = status_of_child([=] {
      if (file_at(block) == 0) return 1;
      return file_at(0, parents) == 0 ? 0 : 2;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(file_at(block), parents);
  });
}

// A file of its own would be longer than the child may make one, which is answered by a signal.
TEST(FileFork, WhereNoFileMayBeSoLong) {
  check_in_files([](talus_heap* heap, char* block) {
    const int status = status_of_child([=] {
      const rlimit least = {64 * kib, 64 * kib};
      setrlimit(RLIMIT_FSIZE, &least);
      return status_of_child([=] {
        if (!test::has_pattern(block, block_bytes, 1)) return 1;
        api::heap_free(heap, block);
        return api::heap_malloc(heap, 100) != nullptr ? 0 : 2;
      });
    });
    EXPECT_EQ(status, 0);
  });
}

pid_t fork_without_handlers() {
  constexpr long first = arch::has_clone_flags_first ? SIGCHLD : 0, second = SIGCHLD - first;
  return static_cast<pid_t>(syscall(SYS_clone, first, second, nullptr, nullptr, nullptr));
}

// The program closes all descriptors that it did not open. Not even what libc writes in the child
// before any handler runs is seen by the parent, at this fork and at later ones.
TEST(FileFork, SharesNoFileThatWasLost) {
  if (test::may_be_emulated) GTEST_SKIP() << "an emulator has threads of its own";
  for (const bool is_begun_anew : {false, true}) {
    check_in_files([is_begun_anew](talus_heap* heap, char* block) {
      for (int round = 0; round < 2; round++) {
        for (int number = 100; number < 2048; number++) close(number);
        // Takes room, and for that a new file.
        if (is_begun_anew) api::heap_free(heap, api::heap_malloc(heap, 3 * mib));
        before_fork();
        const pid_t child = fork_without_handlers();
        if (child == 0) {
          memset(block, 77, block_bytes);
          after_fork_in_child();
          _exit(block[0] == 77 && block[block_bytes - 1] == 77 ? 0 : 1);
        }
        after_fork_in_parent();
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        EXPECT_TRUE(test::has_pattern(block, block_bytes, 1)) << is_begun_anew << round;
      }
    });
  }
}

// A process that another thread made at that moment, by a raw clone, has the pipe, too, for long.
TEST(FileFork, WaitsForItsChildAlone) {
  talus_heap* heap = heap_in_file(TALUS_PROVIDER_GROW);
  ASSERT_NE(api::heap_malloc(heap, 200000), nullptr);
  const auto begin = std::chrono::steady_clock::now();
  before_fork();
  const pid_t stranger = fork_without_handlers();
  ASSERT_GE(stranger, 0);  // a kill of -1 would end all processes
  if (stranger == 0) {
    sleep(20);
    _exit(0);
  }
  const pid_t child = fork_without_handlers();
  if (child == 0) {
    after_fork_in_child();
    _exit(0);
  }
  after_fork_in_parent();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(19));
  ASSERT_GT(stranger, 0) << "kill() would take -1 for all processes";
  kill(stranger, SIGKILL);
  int status = -1;
  EXPECT_EQ(waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  api::heap_destroy(heap);
}

}  // namespace
}  // namespace talus::core
