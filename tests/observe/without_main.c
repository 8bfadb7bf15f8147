// SPDX-License-Identifier: MIT
// tests/observe/without_main: a process whose main thread ends before another thread.
//
// Owns: blocks that live, held by the thread that goes on. It says that it is ready once the main
// thread has ended. A letter makes it allocate and free, and it ends with its input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_t main_thread;
static void* kept[4096];

__attribute__((noinline, noclone)) static void hold(void) {
  for (int i = 0; i < 4096; i++) {
    kept[i] = malloc(5000);
    if (kept[i] == NULL) abort();
    memset(kept[i], 1, 5000);
  }
}

static void* work(void* unused) {
  hold();
  if (pthread_join(main_thread, NULL) != 0) abort();
  puts("ready");
  fflush(stdout);
  for (int letter = 0; (letter = getchar()) != EOF;) {
    for (size_t i = 0; i < 4096; i++) free(malloc(5000 + 16 * i));  // by slow paths, too
    puts("done");
    fflush(stdout);
  }
  exit(0);
  return unused;
}

int main(void) {
  pthread_t worker;
  main_thread = pthread_self();
  if (pthread_create(&worker, NULL, work, NULL) != 0) return 1;
  pthread_exit(NULL);
}
