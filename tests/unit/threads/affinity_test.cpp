// SPDX-License-Identifier: MIT
// tests/unit/threads/affinity: how many heaps there come to be follows the allowed processors and
// the quota of processor time.
//
// Owns: nothing. Each case is a child that has not allocated yet. Masks that this machine cannot
// have are given by a system call filter: the kernel hands sched_getaffinity to a signal handler,
// which answers in its place. The parent never allocates from Talus.
// Called on: the main thread, and in children.
#include <gtest/gtest.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <condition_variable>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>

#include "effort.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr int not_possible = 77000;
constexpr size_t mask_bytes = 128;

struct Answer {
  uint8_t mask[mask_bytes];
  long result;  // bytes, or minus an error
};
Answer answer;

void allow(size_t cpu) { answer.mask[cpu / 8] |= static_cast<uint8_t>(1u << (cpu % 8)); }

void answer_instead(int, siginfo_t*, void* context) {
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  void* to = reinterpret_cast<void*>(machine.gregs[REG_RDX]);
  const auto room = static_cast<long>(machine.gregs[REG_RSI]);
  auto& result = machine.gregs[REG_RAX];
#else
#if defined(__riscv)
  auto* const words = machine.__gregs + REG_A0;
#elif defined(__powerpc64__)
  auto* const words = machine.gp_regs + 3;
#elif defined(__s390x__)
  auto* const words = machine.gregs + 2;
#else
  auto* const words = machine.regs;
#endif
  void* to = reinterpret_cast<void*>(words[2]);
  const auto room = static_cast<long>(words[1]);
  auto& result = words[0];
#endif
  // Others ask as well, with less room; the kernel refuses that, and they ask again with more.
  const long given = answer.result > room ? -EINVAL : answer.result;
  result = static_cast<std::remove_reference_t<decltype(result)>>(given);
  if (given > 0) memcpy(to, answer.mask, static_cast<size_t>(given));
}

// From here on sched_getaffinity gives what `answer` says. False: no such filters here.
bool answer_for_the_kernel() {
  struct sigaction action {};
  action.sa_sigaction = answer_instead;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

// Heaps after `count` threads have been there at the same time; each does what a thread does.
size_t heaps_of_threads(size_t count) {
  std::mutex mutex;
  std::condition_variable changed;
  size_t ready = 0;
  std::vector<void*> blocks(count);
  std::vector<std::thread> threads;
  for (size_t self = 0; self < count; self++) {
    threads.emplace_back([&, self] {
      blocks[self] = allocate(self);
      for (size_t bytes = 1; bytes < 100 * kib; bytes *= 2) free_block(allocate(bytes));
      {
        std::unique_lock<std::mutex> lock{mutex};
        ready++;
        changed.wait(lock, [&] { return ready == count + 1; });
      }
      free_block(blocks[(self + 1) % count]);
    });
  }
  size_t heaps = 0;
  {
    std::unique_lock<std::mutex> lock{mutex};
    while (ready < count) {
      lock.unlock();
      usleep(1000);
      lock.lock();
    }
    heaps = collect_totals().heap_count;
    ready++;
    changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  if (test::live_bytes() != 0) std::abort();
  return heaps;
}

// What the child's `count_heaps` gives, from a process of its own; a negative number is a signal.
template <typename CountHeaps>
int in_child(CountHeaps count_heaps) {
  int ends[2];
  if (pipe(ends) != 0) return -1000;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const int heaps = static_cast<int>(count_heaps());
    _exit(write(ends[1], &heaps, sizeof heaps) == sizeof heaps ? 0 : 1);
  }
  close(ends[1]);
  int heaps = -1000, status = 0;
  if (read(ends[0], &heaps, sizeof heaps) != sizeof heaps) heaps = -1000;
  close(ends[0]);
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : heaps;
}

// Heaps with this answer of the kernel, and with the option.
int heaps_with(size_t thread_count, uint64_t option = 0) {
  return in_child([&] {
    options.heaps = option;
    return answer_for_the_kernel() ? heaps_of_threads(thread_count) : size_t{not_possible};
  });
}

class MaskOfTheKernel : public testing::Test {
 protected:
  MaskOfTheKernel() { answer = Answer{{}, mask_bytes}; }
  void SetUp() override {
    if (test::may_be_emulated) GTEST_SKIP() << "an emulator has no filters";
    if (test::under_asan) GTEST_SKIP() << "each thread of a sanitizer asks for the mask, too";
    if (heaps_with(1, 1) == not_possible) GTEST_SKIP() << "no system call filters";
  }
};

constexpr size_t few_threads = 20;

TEST_F(MaskOfTheKernel, OneProcessorOfAnyNumber) {
  for (size_t cpu : {0u, 1u, 63u, 64u, 1023u}) {
    answer = Answer{{}, mask_bytes};
    allow(cpu);
    EXPECT_EQ(heaps_with(few_threads), 1) << cpu;
  }
}

TEST_F(MaskOfTheKernel, SparseNumbers) {
  for (size_t cpu : {7u, 511u, 1023u}) allow(cpu);
  EXPECT_EQ(heaps_with(few_threads), 3);
}

// A kernel for few processors writes a few bytes only.
TEST_F(MaskOfTheKernel, ShortMask) {
  answer.result = 8;
  allow(1);
  allow(3);
  EXPECT_EQ(heaps_with(few_threads), 2);
}

TEST_F(MaskOfTheKernel, NoAnswer) {
  answer.result = -EINVAL;  // what a kernel says that could have more processors than fit
  EXPECT_EQ(heaps_with(few_threads), 1);
  answer.result = mask_bytes;  // none at all
  EXPECT_EQ(heaps_with(few_threads), 1);
}

TEST_F(MaskOfTheKernel, AllProcessorsGiveNoMoreHeapsThanThreads) {
  memset(answer.mask, 0xff, sizeof answer.mask);
  EXPECT_EQ(heaps_with(few_threads), static_cast<int>(few_threads));
}

// What the process's group pays for counts where it is less; 0 means that it pays for all.
TEST_F(MaskOfTheKernel, AQuotaOfProcessorTime) {
  for (size_t cpu : {1u, 2u, 3u}) allow(cpu);
  const MachineLimits before = machine;
  for (const auto& [quota, cpus] : {std::pair{0, 3}, {1, 1}, {2, 2}, {3, 3}, {100, 3}}) {
    machine.cpu_quota = static_cast<size_t>(quota);
    EXPECT_EQ(heaps_with(few_threads), cpus) << quota;
  }
  machine.cpu_quota = 1;
  EXPECT_EQ(heaps_with(few_threads, 5), 5) << "the option comes before the quota";
  machine = before;
}

TEST_F(MaskOfTheKernel, TheOptionComesFirst) {
  allow(5);
  EXPECT_EQ(heaps_with(few_threads, 1), 1);
  EXPECT_EQ(heaps_with(few_threads, 2), 2);
  EXPECT_EQ(heaps_with(few_threads, 1023), static_cast<int>(few_threads));
}

// More threads than there can be heaps, and as many heaps as there can be: by default as many as a
// thread collects remote frees for.
TEST_F(MaskOfTheKernel, AsManyHeapsAsThereCanBe) {
  if (test::under_asan || test::under_tsan) GTEST_SKIP() << "too many threads for a sanitizer";
  memset(answer.mask, 0xff, sizeof answer.mask);
  const int most = static_cast<int>(heap_count_max) - 1;
  EXPECT_EQ(heaps_with(2 * remote_owners), static_cast<int>(remote_owners));
  EXPECT_EQ(heaps_with(heap_count_max + 20, 1023), most);
}

// Without any filter: the last processor alone, which is not number 0 where there are two.
TEST(Affinity, BoundToTheLastProcessor) {
  if (test::may_be_emulated) GTEST_SKIP() << "the emulator's own threads would be bound";
  const int heaps = in_child([]() -> size_t {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return not_possible;
    size_t last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &set)) last--;
    CPU_ZERO(&set);
    CPU_SET(last, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return not_possible;
    return heaps_of_threads(few_threads);
  });
  if (heaps == not_possible) GTEST_SKIP() << "processors cannot be chosen";
  EXPECT_EQ(heaps, 1);
}

}  // namespace
}  // namespace talus::core
