// SPDX-License-Identifier: MIT
// tests/entry/helper_rights: the helper of libtalus.so gives up what its process gives up.
//
// Each case needs root, runs in a child, and ends with a look at the rights of all threads, at once
// and when the helper has come back. What the kernel refuses to a process of two threads must have
// the outcome that it has without a helper.   Usage: helper_rights CASE
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <initializer_list>

#include "helper_watch.hpp"

extern "C" int capset(void* header, const void* data);  // what libcap calls

namespace {

using namespace watch;

constexpr unsigned unprivileged = 65534;  // the id of a user and a group without rights

// All four ids (real, effective, saved, of the file system) of each thread of the process.
void all_threads_have(const char* label, const char* ids) {
  each_thread([&](int thread) {
    char value[128];
    status_of(thread, label, value);
    // A thread that has just ended has none.
    EXPECT(value[0] == '\0' || strcmp(value, ids) == 0);
  });
}

constexpr char all_unprivileged[] = "65534\t65534\t65534\t65534";
constexpr char half_unprivileged[] = "0\t65534\t0\t65534";
constexpr char real_root[] = "0\t65534\t65534\t65534";

template <typename Change>
void changes(const char* label, const char* ids, Change change) {
  in_child([&] {
    call_helper();
    EXPECT(change() == 0);
    all_threads_have(label, ids);
    call_helper();
    all_threads_have(label, ids);
  });
}

void single_threaded() {
  changes("\nUid:\t", all_unprivileged, [] { return setuid(unprivileged); });
  changes("\nUid:\t", all_unprivileged, [] { return setreuid(unprivileged, unprivileged); });
  changes("\nUid:\t", all_unprivileged,
          [] { return setresuid(unprivileged, unprivileged, unprivileged); });
  changes("\nUid:\t", half_unprivileged, [] { return seteuid(unprivileged); });
  changes("\nGid:\t", all_unprivileged, [] { return setgid(unprivileged); });
  changes("\nGid:\t", all_unprivileged, [] { return setregid(unprivileged, unprivileged); });
  changes("\nGid:\t", all_unprivileged,
          [] { return setresgid(unprivileged, unprivileged, unprivileged); });
  changes("\nGid:\t", half_unprivileged, [] { return setegid(unprivileged); });
  changes("\nUid:\t", real_root, [] { return setresuid(0, unprivileged, unprivileged); });
  static const gid_t groups[] = {7, 8};
  changes("\nGroups:\t", "7 8 ", [] { return setgroups(2, groups); });
  changes("\nGroups:\t", "9 ", [] { return initgroups("no such user", 9); });
}

void threaded() {
  in_child([] {
    pthread_t thread;
    const auto sleeps = [](void*) -> void* {
      for (;;) pause();  // libc's own signals interrupt it
    };
    EXPECT(pthread_create(&thread, nullptr, sleeps, nullptr) == 0);
    call_helper();
    EXPECT(thread_count() == 3);
    EXPECT(setgid(unprivileged) == 0 && setuid(unprivileged) == 0);
    EXPECT(thread_count() == 2);
    all_threads_have("\nUid:\t", all_unprivileged);
    call_helper();
    all_threads_have("\nUid:\t", all_unprivileged);
    all_threads_have("\nGid:\t", all_unprivileged);
  });
}

void capabilities() {
  in_child([] {
    call_helper();
    struct {
      unsigned version;
      int process;
    } header{0x20080522, 0};
    unsigned none[6] = {};
    EXPECT(capset(&header, none) == 0);
    all_threads_have("\nCapEff:\t", "0000000000000000");
    call_helper();
    all_threads_have("\nCapEff:\t", "0000000000000000");
  });
}

// errno and the result are the next function's.
void refusals() {
  in_child([] {
    EXPECT(setuid(unprivileged) == 0);
    call_helper();
    errno = 0;
    EXPECT(setuid(0) == -1 && errno == EPERM);
    EXPECT(setgroups(0, nullptr) == -1 && errno == EPERM);
    errno = 0;
    EXPECT(setns(-1, 0) == -1 && errno == EBADF);
    EXPECT(prctl(PR_SET_NAME, "renamed") == 0);
    char name[16];
    EXPECT(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "renamed") == 0);
    EXPECT(prctl(-5) == -1 && errno == EINVAL);
  });
}

// On one processor, and preferred there: a thread that waits for the helper's end must let it get
// there.
void run_before_others() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
  sched_param priority{};
  priority.sched_priority = 10;
  EXPECT(sched_setscheduler(0, SCHED_FIFO, &priority) == 0);
}

// Like without Talus: a process of one thread may, one of two may not, nor into its own namespace.
void namespaces() {
  for (int round = 0; round < 50; round++) {
    in_child([round] {
      if (round % 2 == 1) run_before_others();
      call_helper();
      EXPECT(unshare(CLONE_NEWUSER) == 0);
    });
  }
  in_child([] {
    const int own = open("/proc/self/ns/user", O_RDONLY);
    call_helper();
    errno = 0;
    EXPECT(setns(own, CLONE_NEWUSER) == -1 && errno == EINVAL);
    const int mounts = open("/proc/self/ns/mnt", O_RDONLY);
    EXPECT(setns(mounts, CLONE_NEWNS) == 0);
  });
}

// A child of vfork changes itself, not its parent, whose helper goes on.
void child_of_vfork() {
  const auto keeps_its_helper = [] {
    const int before = call_helper();
    const pid_t child = vfork();
    if (child == 0) {
      const bool is_done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                           setgid(unprivileged) == 0 && setuid(unprivileged) == 0 && setuid(0) != 0;
      _exit(is_done ? 0 : 1);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(helper_id() == before);
    EXPECT(getuid() == 0);
  };
  keeps_its_helper();
  in_child(keeps_its_helper);  // as a parent that was itself forked
  // A helper that the child made would end with it, and the parent would not know.
  for (int round = 0; round < 5; round++) {
    in_child([] {
      const pid_t child = vfork();
      if (child == 0) {
        free_much();
        _exit(0);
      }
      int status = -1;
      EXPECT(waitpid(child, &status, 0) == child && status == 0);
      call_helper();
    });
  }
}

// Many threads change and free at once: no thread waits for ever, and all have the same in the end.
void at_once() {
  in_child([] {
    pthread_t threads[4];
    const auto work = [](void*) -> void* {
      for (int i = 0; i < 200; i++) {
        void* block = malloc(size_t{4} << 20);
        memset(block, 1, size_t{4} << 20);
        free(block);
        EXPECT(setegid(i % 2 == 0 ? unprivileged : 0) == 0);
      }
      return nullptr;
    };
    for (pthread_t& thread : threads) {
      EXPECT(pthread_create(&thread, nullptr, work, nullptr) == 0);
    }
    for (const pthread_t thread : threads) EXPECT(pthread_join(thread, nullptr) == 0);
    EXPECT(setgid(unprivileged) == 0);
    all_threads_have("\nGid:\t", all_unprivileged);
  });
}

// Without a helper while the limit on threads is low, which has no visible effect; later there is
// one.
void helper_comes_beyond(rlim_t threads) {
  const int before = thread_count();
  rlimit limit{threads, 100};
  EXPECT(setrlimit(RLIMIT_NPROC, &limit) == 0);
  free_much();
  sleep_ms(200);
  EXPECT(thread_count() == before);
  limit.rlim_cur = 100;
  EXPECT(setrlimit(RLIMIT_NPROC, &limit) == 0);
  sleep_ms(1100);
  call_helper();
}

// The kernel has no more threads for this user.
void refused_thread() {
  in_child([] {
    constexpr unsigned stranger = 54321, others = 40;
    const auto sleeps = [](void*) -> void* {
      for (;;) pause();  // libc's own signals interrupt it
    };
    for (unsigned i = 0; i < others; i++) {
      pthread_t thread;
      EXPECT(pthread_create(&thread, nullptr, sleeps, nullptr) == 0);
    }
    EXPECT(setuid(stranger) == 0);
    helper_comes_beyond(others + 1);
  });
}

// A program that may have few threads finds them all free.
void few_threads() {
  in_child([] { helper_comes_beyond(16); });
}

// A program that wants no new privileges is about to set up a filter: no helper from there on.
void no_new_privileges() {
  in_child([] {
    call_helper();
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(thread_count() == 1);
    free_much();
    sleep_ms(200);
    EXPECT(thread_count() == 1);
    in_child([] {
      free_much();
      sleep_ms(200);
      EXPECT(thread_count() == 1);
    });
  });
}

// The same by syscall(), as sandboxes make their calls.
void raw_namespaces() {
  for (int round = 0; round < 20; round++) {
    in_child([round] {
      if (round % 2 == 1) run_before_others();
      call_helper();
      EXPECT(syscall(SYS_unshare, CLONE_NEWUSER) == 0);
    });
  }
  in_child([] {
    call_helper();
    errno = 0;
    EXPECT(syscall(SYS_setns, -1, 0) == -1 && errno == EBADF);
  });
}

// By an instruction of the program's own, as Go's and Rust's libraries do. Nothing sees it coming,
// so a process of one thread that has freed some memory still has one thread.
#if defined(__x86_64__)
long call_kernel(long number, long argument) {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(argument) : "rcx", "r11", "memory");
  return result;
}
#else
long call_kernel(long number, long argument) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = argument;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8) : "memory");
  return x0;
}
#endif
void own_instruction() {
  for (const int wait_ms : {0, 50, 300}) {
    in_child([wait_ms] {
      for (void*& block : small_blocks) memset(block = malloc(100), 1, 100);
      for (void* block : small_blocks) free(block);
      sleep_ms(wait_ms);
      EXPECT(call_kernel(SYS_unshare, CLONE_NEWUSER) == 0);
    });
  }
}

void raw_rights() {
  in_child([] {
    call_helper();
    EXPECT(syscall(SYS_setresuid, unprivileged, unprivileged, unprivileged) == 0);
    all_threads_have("\nUid:\t", all_unprivileged);
    call_helper();
    all_threads_have("\nUid:\t", all_unprivileged);
  });
  // Among other threads it is the caller's alone, and the helper is one of the others.
  in_child([] {
    pthread_t thread;
    const auto changes_itself = [](void*) -> void* {
      const int before = helper_id();
      EXPECT(syscall(SYS_setresuid, unprivileged, unprivileged, unprivileged) == 0);
      EXPECT(helper_id() == before);
      return nullptr;
    };
    call_helper();
    EXPECT(pthread_create(&thread, nullptr, changes_itself, nullptr) == 0);
    EXPECT(pthread_join(thread, nullptr) == 0);
    EXPECT(getuid() == 0);
  });
}

// A filter by syscall(): no helper from there on, so that it needs no place in the list.
void raw_filters() {
  const auto has_none = [] {
    EXPECT(thread_count() == 1);
    free_much();
    sleep_ms(200);
    EXPECT(thread_count() == 1);
  };
  in_child([&] {
    call_helper();
    EXPECT(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    has_none();
  });
  in_child([&] {
    call_helper();
    sock_filter rule{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program{1, &rule};
    const long flags = SECCOMP_FILTER_FLAG_TSYNC;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0) _exit(0);
    has_none();
  });
  in_child([] {
    const int before = call_helper();
    EXPECT(syscall(SYS_prctl, PR_SET_NAME, "renamed") == 0);
    const unsigned action = SECCOMP_RET_ALLOW;
    EXPECT(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    EXPECT(helper_id() == before);
  });
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case cases[] = {
    {"single_threaded", single_threaded},
    {"threaded", threaded},
    {"capabilities", capabilities},
    {"refusals", refusals},
    {"namespaces", namespaces},
    {"child_of_vfork", child_of_vfork},
    {"at_once", at_once},
    {"no_new_privileges", no_new_privileges},
    {"refused_thread", refused_thread},
    {"raw_namespaces", raw_namespaces},
    {"own_instruction", own_instruction},
    {"raw_rights", raw_rights},
    {"raw_filters", raw_filters},
    {"few_threads", few_threads},
};

}  // namespace

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  if (getuid() != 0) return 77;
  for (const Case& each : cases) {
    if (strcmp(each.name, argv[1]) != 0) continue;
    each.run();
    return 0;
  }
  return 2;
}
