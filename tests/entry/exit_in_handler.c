/* SPDX-License-Identifier: MIT
 * tests/entry/exit_in_handler: exit in the handler of a signal that interrupted Talus under a lock.
 *
 * The program ends soon: nothing at the end of a program waits for a lock that its own thread
 * holds. The signal comes of a filter that refuses to map memory, which the heap does under the
 * lock of its addresses.   Exit status 77: there are no filters here.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <talus/talus.h>
#include <time.h>

#include "expect.h"
#include "kernel_by_hand.h"

static struct timespec before;

static void look_at_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT(now.tv_sec - before.tv_sec < 5);
}

static void end_program(int signal) {
  (void)signal;
  clock_gettime(CLOCK_MONOTONIC, &before);
  exit(0);
}

static int set_filter(void) {
  const struct sock_fprog program = trap_of_mmap();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

int main(void) {
  EXPECT(atexit(look_at_time) == 0);
  signal(SIGSYS, end_program);
  alarm(20);
  /* Blocks of each kind: their places are given back at the end of a thread. */
  void* blocks[2000];
  for (size_t i = 0; i < 2000; i++) blocks[i] = talus_malloc(1 + i * 20);
  for (size_t i = 0; i < 2000; i++) talus_free(blocks[i]);
  if (!set_filter()) return 77;
  for (;;) {
    void* block = talus_malloc(30000);
    EXPECT(block != NULL);
    *(volatile char*)block = 1;
  }
}
