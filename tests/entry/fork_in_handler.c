/* SPDX-License-Identifier: MIT
 * tests/entry/fork_in_handler: a program of one thread forks in the handlers of its signals.
 *
 * The signal may come while Talus holds its locks, and while the background thread is there,
 * asleep, at work or waiting for one of these locks. No fork hangs; the parent goes on, and so does
 * a child that returns from the handler.
 *
 *   fork_in_handler timer     signals at any moment, for some seconds
 *   fork_in_handler locked    a signal under the lock of addresses: a filter refuses mmap there
 *   fork_in_handler awaited   the same, while the background thread waits for that lock
 * Exit status 77: there are no filters here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "expect.h"
#include "kernel_by_hand.h"

enum { slots = 3000, child_seconds = 20 };

static void* blocks[slots];
static unsigned seed = 1;
static volatile sig_atomic_t forks, rest_ms, is_child;

/* A step of a program that has small, medium and large blocks. */
static void takes_and_gives(int index) {
  seed = seed * 1664525u + 1013904223u;
  free(blocks[index]);
  const size_t bytes = (seed >> 28) != 0 ? seed % 600 : seed % 400000;
  blocks[index] = malloc(bytes);
  if (blocks[index] != NULL && bytes > 4096) memset(blocks[index], 1, bytes);
}

static void sleep_ms(long milliseconds) {
  const struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&span, NULL);
}

/* Every second child only ends, as one that would become another program. */
static void fork_now(void) {
  const int error = errno;
  sleep_ms(rest_ms);
  const int returns = ++forks % 2;
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    alarm(child_seconds); /* ends it, and the parent sees how */
    if (!returns) _exit(0);
    is_child = 1;
    errno = error;
    return;
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  errno = error;
}

static void on_alarm(int number) {
  (void)number;
  if (!is_child) fork_now();
}

/* A child goes on for a while, gives all back, and forks itself. */
static void ends_child(void) {
  for (int i = 0; i < 2 * slots; i++) takes_and_gives(i % slots);
  for (int i = 0; i < slots; i++) free(blocks[i]);
  const pid_t grandchild = fork();
  if (grandchild == 0) {
    free(malloc(100000));
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(grandchild, &status, 0) == grandchild && status == 0);
  _exit(0);
}

static void uses_timer(void) {
  const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  EXPECT(sigaction(SIGPROF, &action, NULL) == 0);
  const struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
  EXPECT(setitimer(ITIMER_PROF, &often, NULL) == 0);
  const time_t end = time(NULL) + 6;
  while (time(NULL) < end) {
    for (int i = 0; i < slots && !is_child; i++) takes_and_gives(i);
    if (is_child) ends_child();
  }
  EXPECT(setitimer(ITIMER_PROF, &never, NULL) == 0);
  EXPECT(forks > 10);
}

#if defined(__x86_64__)
static void refuse(ucontext_t* context) { context->uc_mcontext.gregs[REG_RAX] = -ENOMEM; }
#else
static void refuse(ucontext_t* context) { (void)context; }
#endif

static void on_refusal(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  refuse(context);
  if (!is_child) fork_now();
}

/* By an instruction of its own, so that Talus does not hear of the filter, and keeps its thread. */
static int set_filter(void) {
  const struct sock_fprog program = trap_of_mmap();
  if (ask_kernel(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) != 0) return 0;
  return ask_kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program) == 0;
}

static int count_threads(void) {
  DIR* folder = opendir("/proc/self/task");
  int count = -2; /* . and .. */
  EXPECT(folder != NULL);
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

static int forks_under_lock(void) {
  const struct sigaction action = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGSYS, &action, NULL) == 0);
  for (int i = 0; i < slots; i++) takes_and_gives(i);
  for (int i = 0; i < slots; i++) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
  for (int wait = 0; count_threads() == 1 && wait < 500; wait++) {
    free(memset(malloc(8 << 20), 1, 8 << 20));
    sleep_ms(10);
  }
  EXPECT(count_threads() == 2);
  if (!set_filter()) return 77;
  /* Until there is no room, and a few times more. Blocks are kept. */
  while (forks < 4 && !is_child) {
    if (malloc(1 << 20) == NULL) sleep_ms(1);
  }
  if (is_child) ends_child();
  return 0;
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  alarm(50);
  if (strcmp(argv[1], "timer") == 0) uses_timer();
  if (strcmp(argv[1], "awaited") == 0) rest_ms = 500;
  return strcmp(argv[1], "timer") == 0 ? 0 : forks_under_lock();
}
