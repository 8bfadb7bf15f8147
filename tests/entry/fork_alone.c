/* SPDX-License-Identifier: MIT
 * tests/entry/fork_alone: forks of a process with one thread copy no page for Talus.
 *
 * Nothing is locked for such a fork, so children and their children, with threads and without, must
 * find a whole heap all the same. The test compares the parent's page faults for such a fork and
 * for one that calls no handlers. The deeper stack of handlers costs one page more in a run of
 * twenty, by the stack's address.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { block_count = 500, forks = 100, generations = 3 };

static char* blocks[block_count];

static size_t bytes_of(int index) { return 16 + (size_t)index * 37; }

static void fill(void) {
  for (int i = 0; i < block_count; i++) {
    blocks[i] = malloc(bytes_of(i));
    EXPECT(blocks[i] != NULL);
    memset(blocks[i], i, bytes_of(i));
  }
}
static void check_and_free(int first) {
  for (int i = first; i < block_count; i += 2) {
    EXPECT(blocks[i][0] == (char)i && blocks[i][bytes_of(i) - 1] == (char)i);
    free(blocks[i]);
  }
}

/* Frees what the main thread allocated, and allocates as much. */
static void* works(void* first) {
  check_and_free(*(const int*)first);
  for (int i = 0; i < block_count; i++) free(malloc(bytes_of(i)));
  return NULL;
}

static void use_threads(void) {
  static const int firsts[] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    EXPECT(pthread_create(&threads[i], NULL, works, (void*)&firsts[i]) == 0);
  }
  for (int i = 0; i < 2; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void wait_for(pid_t child) {
  int status = -1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Some generations of processes: each has a child while it has one thread, blocks to check, and a
 * child with threads behind it. */
static void live(void) {
  pid_t next = 0;
  for (int generation = 1; generation < generations && next == 0; generation++) next = fork();
  alarm(40);
  if (next != 0) wait_for(next);
  use_threads();
  fill();
  const pid_t child = fork();
  if (child == 0) {
    check_and_free(0);
    check_and_free(1);
    fill();
    use_threads();
    _exit(0);
  }
  wait_for(child);
  check_and_free(0);
  check_and_free(1);
  _exit(0);
}

static long faults_of(pid_t (*make_child)(void)) {
  struct rusage before, after;
  for (int i = -1; i < forks; i++) {
    if (i == 0) getrusage(RUSAGE_SELF, &before);
    const pid_t child = make_child();
    if (child == 0) _exit(0);
    wait_for(child);
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

#pragma weak _Fork
pid_t _Fork(void); /* glibc 2.34: without handlers */

int main(void) {
  fill();
  const pid_t child = fork();
  if (child == 0) live();
  wait_for(child);
  if (_Fork != NULL) EXPECT(faults_of(fork) < faults_of(_Fork) + 2 * forks);
  check_and_free(0);
  check_and_free(1);
  return 0;
}
