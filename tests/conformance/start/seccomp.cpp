// Lives under a seccomp filter that lets through what an allocator and threads need (N18).
//
// Memory: mmap munmap mremap mprotect madvise brk. Threads and time: futex, clone, exit, signals,
// robust lists, rseq, clocks, yield, affinity of the calling thread (glibc sizes its arenas by it).
// Opening files is answered with "no such file", as sandboxes do (glibc itself looks at a file in
// /proc when it shrinks a heap). No prctl, no sysinfo, no membarrier: a forbidden call raises
// SIGSYS, whose handler names it. Three seconds pass, so that a helper that starts late is under
// the filter too.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace {

const unsigned allowed[] = {
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_clone,
#ifdef SYS_clone3
    SYS_clone3,
#endif
    SYS_exit,
    SYS_exit_group,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_gettid,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
};
constexpr std::size_t allowed_count = sizeof(allowed) / sizeof(allowed[0]);

void on_forbidden(int, siginfo_t* info, void*) {
  probe::fail("system call %d is not among those allowed", info->si_syscall);
  syscall(SYS_exit_group, 1);
}

bool install_filter() {
  sock_filter rules[2 * allowed_count + 4];
  std::size_t count = 0;
  rules[count++] = {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)};
  for (const unsigned number : allowed) {
    rules[count++] = {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number};
    rules[count++] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  }
  rules[count++] = {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_openat};
  rules[count++] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOENT};
  rules[count++] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP};
  const sock_fprog program{static_cast<unsigned short>(count), rules};
  // TSYNC: threads that the allocator has started already are bound as well.
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

void* allocate_a_lot(void* argument) {
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 1);
  static thread_local void* blocks[500];
  for (int i = 0; i < 100000; ++i) {
    void*& block = blocks[random.below(500)];
    const std::size_t size = i % 200 == 0 ? random.between(1, 3000000) : random.between(1, 3000);
    switch (i % 4) {
      case 0:
        block = realloc(block, size);
        break;
      case 1:
        free(block);
        block = calloc(1, size);
        break;
      case 2:
        free(block);
        block = aligned_alloc(256, size);
        break;
      default:
        free(block);
        block = malloc(size);
        break;
    }
    if (block == nullptr) probe::fail("no block of %zu bytes", size);
  }
  for (void* block : blocks) free(block);
  malloc_trim(0);
  return nullptr;
}

// What lies between a few blocks goes back: an allocator may do that in other ways where it is free
// to call what it likes.
void trim_between_survivors() {
  static void* blocks[20000];
  for (void*& block : blocks) {
    block = probe::opaque(malloc(200));
    probe::fill(block, 200, 1);
  }
  const auto free_if = [](bool is_survivor) {
    for (std::size_t i = 0; i < 20000; ++i) {
      if ((i % 100 == 0) == is_survivor) free(blocks[i]);
    }
  };
  free_if(false);
  malloc_trim(0);
  for (std::size_t i = 0; i < 20000; i += 100) {
    PROBE_EXPECT(probe::is_filled(blocks[i], 200, 1), "block %zu changed", i);
  }
  free_if(true);
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_sigaction = on_forbidden;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  // The start may do more than the life after it: blocks and a trim before the filter.
  trim_between_survivors();
  if (!install_filter()) probe::skip("no seccomp filters");
  trim_between_survivors();
  allocate_a_lot(nullptr);
  for (std::size_t round = 0; round < 3; ++round) {
    pthread_t threads[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const int error = pthread_create(&threads[i], nullptr, allocate_a_lot,
                                       reinterpret_cast<void*>(2 * round + i));
      PROBE_EXPECT(error == 0, "no thread under the filter: %d", error);
      if (error != 0) return 1;
    }
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    probe::sleep_ms(1000);
  }
  return probe::verdict();
}
