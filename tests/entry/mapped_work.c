/* SPDX-License-Identifier: MIT
 * tests/entry/mapped_work: a program with one fault of the heap, or none, for mapped_test.py.
 *
 * Owns: nothing. Says on standard output what the report must say: address and size of the block,
 * the threads that made and freed it. Must not know: Talus. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char* volatile block;
static long maker, ender;

static void* make(void* bytes) {
  maker = syscall(SYS_gettid);
  block = malloc((size_t)bytes);
  memset(block, 1, (size_t)bytes);
  return NULL;
}
static void* end(void* unused) {
  (void)unused;
  ender = syscall(SYS_gettid);
  free(block);
  return NULL;
}
static void on_a_thread(void* (*work)(void*), void* with) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, with);
  pthread_join(thread, NULL);
}

/* Many blocks of all sizes, so that a fault is not among the first. */
static void use_heap(void) {
  static char* blocks[3000];
  for (int i = 0; i < 3000; i++) {
    blocks[i] = i % 3 == 0 ? calloc(1, i) : malloc(i);
    if (i % 7 == 0) blocks[i] = realloc(blocks[i], 2 * i + 1);
    if (i > 0) blocks[i][i / 2] = 1;
  }
  for (int i = 0; i < 3000; i++) free(blocks[i]);
}

static void make_fault(char kind) {
  const size_t bytes = 100;
  use_heap();
  on_a_thread(make, (void*)bytes);
  printf("%p %ld ", (void*)block, maker);
  if (kind == 'f') {
    on_a_thread(end, NULL);
    printf("%ld", ender);
  }
  printf("\n");
  fflush(stdout);
  if (kind == 'o') block[112] = 1;
  if (kind == 'u') block[-1] = 1;
  if (kind == 'f') block[5] = 1;
  if (kind == 'd') {
    end(NULL);
    end(NULL);
  }
}

/* A million blocks live while others come and go. */
static void use_large_heap(void) {
  void** last = NULL;
  for (int i = 0; i < 1000000; i++) {
    void** one = malloc(sizeof(void*));
    *one = last;
    last = one;
  }
  make_fault('n');
  while (last != NULL) {
    void** next = *last;
    free(last);
    last = next;
  }
}

/* argv[1]: o overrun, u underrun, f use after free, d double free, n none; m: as n, with many
 * blocks; c: as o, in a child. */
int main(int argc, char** argv) {
  const char kind = argc > 1 ? argv[1][0] : 'n';
  if (kind == 'm') {
    use_large_heap();
    return 0;
  }
  if (kind != 'c') {
    make_fault(kind);
    return 0;
  }
  const pid_t child = fork();
  if (child == 0) {
    make_fault('o');
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  use_heap();
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
