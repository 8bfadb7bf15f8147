/* SPDX-License-Identifier: MIT
 * tests/entry/fork_order: forks beside a library whose constructor registered handlers first.
 *
 * A hang is the end by alarm: Talus held its locks while such a handler allocated, or waited for
 * a lock of the library's, which a thread holds that allocates.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "expect.h"

void allocate_in_lock(void);

static atomic_int is_over;

static void* allocates(void* argument) {
  while (!is_over) allocate_in_lock();
  return argument;
}

static void fork_once(void) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    alarm(20);
    free(malloc(100));
    allocate_in_lock();
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  alarm(50);
  fork_once();
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, allocates, NULL) == 0);
  for (int i = 0; i < 50; i++) fork_once();
  is_over = 1;
  EXPECT(pthread_join(thread, NULL) == 0);
  return 0;
}
