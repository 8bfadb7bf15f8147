// SPDX-License-Identifier: MIT
// tests/entry/helper_life: the helper thread of libtalus.so from its start to its end.
//
// The program is linked with the library and looks at its own threads. Usage: helper_life CASE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/single_threaded.h>

#include <initializer_list>

#include "helper_watch.hpp"

extern "C" pid_t _Fork() noexcept;  // of the library, also where libc has none

namespace {

using namespace watch;

void starts_late() {
  for (int i = 0; i < 10000; i++) free(malloc(100));
  void* block = malloc(500000);
  memset(block, 1, 500000);
  free(block);
  sleep_ms(300);
  EXPECT(thread_count() == 1);
  call_helper();
  EXPECT(thread_count() == 2);
}

size_t resident_bytes() {
  char text[128];
  status_of(getpid(), "\nVmRSS:\t", text);
  return strtoul(text, nullptr, 10) * 1024;
}
void fill_and_free(size_t blocks, size_t bytes) {
  for (size_t i = 0; i < blocks; i++) memset(small_blocks[i] = malloc(bytes), 1, bytes);
  for (size_t i = 0; i < blocks; i++) free(small_blocks[i]);
}

// What a process of one thread frees at first goes back at once, and no thread is needed for it.
void first_frees_go_by_call() {
  for (const size_t bytes : {size_t{100}, size_t{5000}, size_t{100000}, size_t{1} << 20}) {
    in_child([bytes] {
      fill_and_free(1, 100);
      memset(small_blocks, 1, sizeof small_blocks);
      const size_t before = resident_bytes();
      fill_and_free((size_t{14} << 20) / bytes, bytes);
      EXPECT(resident_bytes() < before + (size_t{5} << 20));
      sleep_ms(300);
      EXPECT(thread_count() == 1);
    });
  }
}

// ... until the program takes such memory again: a helper knows better when to give it back.
void reuse_calls_helper() {
  for (int round = 0; round < 4; round++) fill_and_free(8, size_t{1} << 20);
  EXPECT(thread_count() == 2);
}

// With TALUS_HELPER=0.
void is_off() {
  free_much();
  sleep_ms(300);
  EXPECT(thread_count() == 1);
}

void blocks_signals() {
  const int thread = call_helper();
  char blocked[128];
  status_of(thread, "SigBlk:\t", blocked);
  EXPECT(strcmp(blocked, "fffffffffffbfeff") == 0);  // all but SIGKILL and SIGSTOP
  status_of(getpid(), "SigBlk:\t", blocked);
  EXPECT(strcmp(blocked, "0000000000000000") == 0);
}

void libc_knows_one_thread() {
  EXPECT(__libc_single_threaded);
  call_helper();
  EXPECT(__libc_single_threaded);
}

void ends_and_starts_again() {
  int last = 0;
  for (int round = 0; round < 3; round++) {
    const int thread = call_helper();
    EXPECT(thread != last);
    last = thread;
    EXPECT(comes_true([] { return thread_count() == 1; }));
  }
}

// A helper that has work stays the same, however often it is offered some.
void is_one() {
  const int thread = call_helper();
  for (int round = 0; round < 20; round++) {
    free_much();
    EXPECT(thread_count() == 2);
    EXPECT(helper_id() == thread);
  }
}

void helpers_of_children() {
  for (int round = 0; round < 5; round++) {
    const int parents = call_helper();
    in_child([parents] {
      EXPECT(thread_count() == 1);
      const int own = call_helper();
      EXPECT(own != parents && thread_count() == 2);
      in_child([] { call_helper(); });
      EXPECT(comes_true([] { return thread_count() == 1; }));
    });
    EXPECT(thread_count() <= 2);
  }
}

// At any instant of the helper's life.
void thousand_forks() {
  for (int i = 0; i < 1000; i++) {
    if (i % 50 == 0) free_much();
    in_child([i] {
      EXPECT(thread_count() == 1);
      void* block = malloc(5000);
      memset(block, 1, 5000);
      free(block);
      if (i % 100 == 0) call_helper();
    });
  }
}

// Children that are made without the handlers of fork, past the library: none has a helper.
void raw_children() {
  alignas(16) static char stack[65536];
  for (int round = 0; round < 10; round++) {
    call_helper();
    const auto alone = [](void*) {
      alarm(child_seconds_max);
      EXPECT(thread_count() == 1);
      return 0;
    };
    const int child = clone(alone, stack + sizeof stack, SIGCHLD, nullptr);
    EXPECT(child >= 0);
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(helper_id() != 0);
  }
}

// The kernel may list a thread that has ended a moment longer.
bool is_soon_alone() {
  for (int wait = 0; wait < 20 && thread_count() != 1; wait++) sleep_ms(1);
  return thread_count() == 1;
}
bool ends_well(long child) {
  int status = -1;
  return waitpid(static_cast<pid_t>(child), &status, 0) == child && status == 0;
}

// Where the library sees such a child coming, the helper is in the middle of nothing, so that the
// child may allocate: it is ended.
void copies() {
  using Copy = long();
  Copy* const ways[] = {
    [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); },
    [] {
      unsigned long long with[8] = {0, 0, 0, 0, SIGCHLD, 0, 0, 0};
      const long child = syscall(SYS_clone3, with, sizeof with);
      return child == -1 && errno == ENOSYS ? long{_Fork()} : child;  // older ones
    },
#if defined(SYS_fork)
    [] { return syscall(SYS_fork); },
#endif
    [] { return long{_Fork()}; },
  };
  for (Copy* copy : ways) {
    for (int round = 0; round < 5; round++) {
      call_helper();
      const long child = copy();
      EXPECT(child >= 0);
      if (child == 0) {
        alarm(child_seconds_max);
        call_helper();
        _exit(0);
      }
      EXPECT(is_soon_alone() && ends_well(child));
    }
  }
}

// ... also a helper of such a child.
void copies_of_copies() {
  call_helper();
  const pid_t child = _Fork();
  if (child == 0) {
    call_helper();
    const pid_t grandchild = _Fork();
    if (grandchild == 0) _exit(0);
    EXPECT(is_soon_alone() && ends_well(grandchild));
    _exit(0);
  }
  EXPECT(ends_well(child));
}

void ends_of_process() {
  in_child([] {
    call_helper();
    exit(0);
  });
  in_child([] {
    call_helper();
    quick_exit(0);
  });
  in_child([] {
    call_helper();
    _exit(0);
  });
  // Another program takes the process over.
  in_child([] {
    call_helper();
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(1);
  });
  // The first thread ends before the helper.
  in_child([] {
    call_helper();
    pthread_exit(nullptr);
  });
}

// Handlers of exit() run before the destructors of libraries: the helper that they call ends there.
void late_frees() {
  in_child([] {
    atexit([] { call_helper(); });
    exit(0);
  });
}

void is_ordinary() {
  sched_param priority{};
  priority.sched_priority = 10;
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) _exit(77);
  const int thread = call_helper();
  EXPECT(sched_getscheduler(0) == SCHED_FIFO);
  EXPECT(comes_true([thread] { return sched_getscheduler(thread) == SCHED_OTHER; }));
}

// A thread that is bound to one processor starts a helper that runs where the program may.
void is_not_bound() {
  cpu_set_t all;
  EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
  if (CPU_COUNT(&all) < 2) _exit(77);
  pthread_t thread;
  const auto bound = [](void* mask) -> void* {
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = 0;
    while (!CPU_ISSET(cpu, static_cast<cpu_set_t*>(mask))) cpu++;
    CPU_SET(cpu, &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
    call_helper();
    return nullptr;
  };
  EXPECT(pthread_create(&thread, nullptr, bound, &all) == 0);
  EXPECT(pthread_join(thread, nullptr) == 0);
  const int helper = helper_id();
  EXPECT(helper != 0);
  EXPECT(comes_true([&] {
    cpu_set_t now;
    return sched_getaffinity(helper, sizeof now, &now) == 0 && CPU_EQUAL(&now, &all);
  }));
}

// The thread that started it is gone, and its stack and thread pointer with it.
void outlives_its_maker() {
  pthread_t thread;
  const auto start = [](void*) -> void* {
    call_helper();
    return nullptr;
  };
  EXPECT(pthread_create(&thread, nullptr, start, nullptr) == 0);
  EXPECT(pthread_join(thread, nullptr) == 0);
  EXPECT(thread_count() == 2);
  EXPECT(comes_true([] { return thread_count() == 1; }));
  call_helper();
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case cases[] = {
    {"starts_late", starts_late},
    {"first_frees_go_by_call", first_frees_go_by_call},
    {"reuse_calls_helper", reuse_calls_helper},
    {"is_off", is_off},
    {"blocks_signals", blocks_signals},
    {"libc_knows_one_thread", libc_knows_one_thread},
    {"ends_and_starts_again", ends_and_starts_again},
    {"is_one", is_one},
    {"helpers_of_children", helpers_of_children},
    {"thousand_forks", thousand_forks},
    {"raw_children", raw_children},
    {"copies", copies},
    {"copies_of_copies", copies_of_copies},
    {"ends_of_process", ends_of_process},
    {"late_frees", late_frees},
    {"is_ordinary", is_ordinary},
    {"is_not_bound", is_not_bound},
    {"outlives_its_maker", outlives_its_maker},
};

}  // namespace

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  for (const Case& each : cases) {
    if (strcmp(each.name, argv[1]) != 0) continue;
    each.run();
    return 0;
  }
  return 2;
}
