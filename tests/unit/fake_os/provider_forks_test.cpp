// SPDX-License-Identifier: MIT
// tests/unit/fake_os/provider_forks: forks of a process whose memory a file or callbacks provide,
// on a kernel that refuses, and beside threads that give memory back.
#include <gtest/gtest.h>

#include "api/heaps.hpp"
#include "fake_os/sequence.hpp"
#include "process/fork.hpp"
#include "process/provider.hpp"

namespace talus::core {
namespace {

using os::FakeCall;

// A fork in which the kernel refuses one call of a kind, or all that follow: neither side sees what
// the other writes after it, and both go on.
class ForkOnABadKernel : public testing::TestWithParam<std::pair<FakeCall, bool>> {};
TEST_P(ForkOnABadKernel, IsNoSharing) {
  const auto [kind, is_lasting] = GetParam();
  const std::string wrong = test::run_in_child([kind = kind, is_lasting = is_lasting] {
    ProviderChoice request;
    request.kind = ProviderKind::file;
    memcpy(request.directory, "/tmp", 5);
    test::require(start_file(request), "a file in /tmp");
    watch_forks();
    char* blocks[40];
    for (size_t i = 0; i < 40; i++) {
      blocks[i] = static_cast<char*>(api::malloc(50000));
      test::fill_pattern(blocks[i], 50000, i);
    }
    const size_t row = test::row_of(kind);
    const uint64_t next = os::fake_plan.calls[row].load_relaxed() + 1;
    (is_lasting ? os::fake_plan.refuse_from : os::fake_plan.refuse_at)[row].store_relaxed(next);
    const pid_t child = fork();
    test::require(child >= 0, "fork");
    for (size_t i = 0; i < 40; i++) {
      test::require(test::has_pattern(blocks[i], 50000, i), "contents", i);
      test::fill_pattern(blocks[i], 50000, i + (child == 0 ? 100 : 200));
    }
    test::end_faults();
    test::require(use_process_memory() == 0, "memory on either side");
    for (size_t i = 0; i < 40; i++) {
      test::require(test::has_pattern(blocks[i], 50000, i + (child == 0 ? 100 : 200)), "own", i);
    }
    if (child == 0) _exit(0);
    int status = -1;
    test::require(waitpid(child, &status, 0) == child && status == 0, "the other side");
  });
  EXPECT_EQ(wrong, "");
}
INSTANTIATE_TEST_SUITE_P(Calls, ForkOnABadKernel,
                         testing::Values(std::pair(FakeCall::map_file, false),
                                         std::pair(FakeCall::map_file, true),
                                         std::pair(FakeCall::reserve_room, false),
                                         std::pair(FakeCall::reserve_room, true),
                                         std::pair(FakeCall::map, true)));

// A provider that takes its time to take pages back.
Atomic<int> slow_phase;  // 1: a purge has begun, 2: it may end
bool purge_slowly(uintptr_t base, size_t bytes) noexcept {
  if (slow_phase.load_relaxed() == 0) slow_phase.store_release(1);
  while (slow_phase.load_acquire() != 2) usleep(100);
  return os::System::purge(reinterpret_cast<void*>(base), bytes);
}

// No thread waits for what another gives back, and the child of a fork has it.
TEST(Fork, WhileARangeGoesBack) {
  if (test::under_tsan) GTEST_SKIP() << "no threads in the child of a process with threads";
  const std::string wrong = test::run_in_child([] {
    static constexpr PageProvider slow = {test::reserve_some, nullptr, purge_slowly, false, false};
    {
      Held held{space.lock()};
      test::require(space.use_provider(held, slow, 0), "a provider");
    }
    watch_forks();
    void* block = api::malloc(16 * mib);
    test::fill_pattern(block, 16 * mib, 1);
    api::free(block);
    std::thread purger{[] { purge_beyond(0); }};
    while (slow_phase.load_acquire() != 1) usleep(100);
    const uint64_t began_ms = os::System::now_ms();
    const pid_t child = fork();
    test::require(os::System::now_ms() - began_ms < 500, "fork waited");
    slow_phase.store_release(2);
    if (child == 0) {
      {
        Held held{space.lock()};
        test::require(space.is_sound(), "soundness");
        test::require(space.purging_bytes() == 0, "no thread gives anything back");
        test::require(space.dirty_bytes() >= 16 * mib, "all of it is free");
      }
      purge_beyond(0);
      test::require(space.dirty_bytes() == 0, "it can be given back");
      block = api::malloc(50 * mib);
      test::require(block != nullptr, "all of it can be had");
      api::free(block);
      _exit(0);
    }
    int status = -1;
    test::require(waitpid(child, &status, 0) == child && status == 0, "the child");
    purger.join();
    test::require(test::space_is_sound() && space.purging_bytes() == 0, "the parent");
  });
  EXPECT_EQ(wrong, "");
}

// Forks in the middle of giving back, as the handler of a signal may.
pid_t forked = -1;
bool purge_forking(uintptr_t base, size_t bytes) noexcept {
  if (forked < 0) forked = fork();
  return os::System::purge(reinterpret_cast<void*>(base), bytes);
}
TEST(Fork, ByTheThreadThatGivesARangeBack) {
  const std::string wrong = test::run_in_child([] {
    static constexpr PageProvider forking = {test::reserve_some, nullptr, purge_forking, false,
                                             false};
    {
      Held held{space.lock()};
      test::require(space.use_provider(held, forking, 0), "a provider");
    }
    watch_forks();
    void* block = api::malloc(16 * mib);
    test::fill_pattern(block, 16 * mib, 1);
    api::free(block);
    {
      Held held{space.lock()};
      space.purge_beyond(held, 0);
      test::require(space.is_sound(), "soundness on either side");
      test::require(space.purging_bytes() == 0 && space.dirty_bytes() == 0, "it is given back");
    }
    if (forked == 0) _exit(0);
    int status = -1;
    test::require(waitpid(forked, &status, 0) == forked && status == 0, "the child");
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
