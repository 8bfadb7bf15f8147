/* SPDX-License-Identifier: MIT
 * tests/entry/plain_work: threads, forks and thread-specific values with nothing but POSIX.
 *
 * For C libraries other than glibc: how threads begin and end, and in what order a fork calls its
 * handlers, is theirs. Threads that come and go free what others allocated, also in destructors of
 * thread-specific values; children are forked meanwhile and allocate. Silent, 0 when all is well.
 */
#define _DEFAULT_SOURCE
#include "expect.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <talus/talus.h>

enum { slot_count = 256, thread_count = 4, generations = 40 };

static void* slots[slot_count];
static pthread_key_t key;

static void exchange(unsigned* seed) {
  *seed = *seed * 1103515245 + 12345;
  const size_t bytes = *seed / 65536 % 64 == 0 ? *seed / 256 % 1000000 : *seed / 256 % 4000;
  char* block = malloc(bytes + 1);
  EXPECT(block != NULL && talus_usable_size(block) > bytes);
  block[0] = block[bytes] = 1;
  void** slot = &slots[*seed / 4096 % slot_count];
  free(__atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL));
}

/* Comes after other destructors and brings itself back once: the heap may be gone by then. */
static void destroy(void* value) {
  unsigned seed = (unsigned)(uintptr_t)value;
  for (int i = 0; i < 50; i++) exchange(&seed);
  if ((uintptr_t)value % 2 == 1) pthread_setspecific(key, (char*)value + 1);
}

static void* work(void* argument) {
  unsigned seed = (unsigned)(uintptr_t)argument;
  pthread_setspecific(key, (void*)(uintptr_t)(seed * 2 + 1));
  for (int i = 0; i < 400; i++) exchange(&seed);
  return NULL;
}

static void child(void) {
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    alarm(20);
    unsigned seed = 7;
    for (int i = 0; i < 500; i++) exchange(&seed);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, work, (void*)1) == 0 && pthread_join(thread, NULL) == 0);
    _exit(0);
  }
  int status = 1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

static void answers(void) {
  errno = 0;
  volatile size_t impossible = SIZE_MAX - 100;
  EXPECT(malloc(impossible) == NULL && errno == ENOMEM);
  EXPECT(calloc(impossible, 16) == NULL && errno == ENOMEM);
  void* block = NULL;
  EXPECT(posix_memalign(&block, 4096, 100) == 0 && (uintptr_t)block % 4096 == 0);
  block = realloc(block, 3 << 20);
  EXPECT(block != NULL);
  free(block);
  block = aligned_alloc(64, 640);
  EXPECT((uintptr_t)block % 64 == 0);
  free(block);
  char* line = NULL;
  size_t bytes = 0;
  FILE* file = fopen("/etc/passwd", "r");
  if (file == NULL) return;
  while (getline(&line, &bytes, file) > 0) EXPECT(talus_usable_size(line) >= bytes);
  free(line);
  fclose(file);
}

int main(void) {
  answers();
  EXPECT(pthread_key_create(&key, destroy) == 0);
  for (unsigned generation = 0; generation < generations; generation++) {
    pthread_t threads[thread_count];
    for (unsigned i = 0; i < thread_count; i++) {
      void* argument = (void*)(uintptr_t)(generation * thread_count + i);
      EXPECT(pthread_create(&threads[i], NULL, work, argument) == 0);
    }
    child();
    for (unsigned i = 0; i < thread_count; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
  }
  for (int i = 0; i < slot_count; i++) free(slots[i]);
  return 0;
}
