/* SPDX-License-Identifier: MIT
 * tests/entry/fork_handlers: a library that watches forks before the first allocation.
 *
 * Its handlers hold a lock, as a library's handlers do, and allocate more than a thread has at
 * hand.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { size_count = 64, block_count = 32 };

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

static void allocate_much(void) {
  void* blocks[block_count];
  for (size_t size = 16; size < 16 + 400 * size_count; size += 400) {
    for (int i = 0; i < block_count; i++) {
      blocks[i] = malloc(size);
      EXPECT(blocks[i] != NULL);
      memset(blocks[i], i, 16);
    }
    for (int i = 0; i < block_count; i++) free(blocks[i]);
  }
}

static void before_fork(void) {
  EXPECT(pthread_mutex_lock(&own_lock) == 0);
  allocate_much();
}
static void after_fork(void) {
  allocate_much();
  EXPECT(pthread_mutex_unlock(&own_lock) == 0);
}

__attribute__((constructor)) static void library_starts(void) {
  EXPECT(pthread_atfork(before_fork, after_fork, after_fork) == 0);
}

void allocate_in_lock(void) {
  EXPECT(pthread_mutex_lock(&own_lock) == 0);
  allocate_much();
  EXPECT(pthread_mutex_unlock(&own_lock) == 0);
}
