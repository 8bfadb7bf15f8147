/* SPDX-License-Identifier: MIT
 *
 * Owns: the program that the tests of `talus compare` run. Its first argument says what it does:
 * work, print (the variable COMPARE_TEST), count (its input), random, exit N, signal N, sleep MS.
 * The others are leave (a process of its own session behind) and brief (nothing at all).
 * Must not know: which allocator it has.
 */

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void work(void) {
  for (int i = 0; i < 20000; ++i) {
    char* volatile block = malloc(100);
    if (block == NULL) exit(9);
    block[0] = 1;
    free(block);
  }
}

static void count(void) {
  long bytes = 0;
  while (getchar() != EOF) ++bytes;
  printf("%ld\n", bytes);
}

/* Its id goes to the file named by COMPARE_LEFT; returns when it is there. */
static void leave(void) {
  int ends[2];
  char nothing;
  if (pipe(ends) != 0) exit(8);
  if (fork() != 0) {
    close(ends[1]);
    if (read(ends[0], &nothing, 1) != 0) exit(8);
    return;
  }
  setsid();
  FILE* file = fopen(getenv("COMPARE_LEFT"), "a");
  if (file == NULL) _exit(1);
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  close(ends[1]);
  for (;;) pause();
}

int main(int argc, char** argv) {
  const char* const act = argc > 1 ? argv[1] : "brief";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  const char* const variable = getenv("COMPARE_TEST");
  if (strcmp(act, "work") == 0) work();
  if (strcmp(act, "print") == 0) printf("%s\n", variable != NULL ? variable : "unset");
  if (strcmp(act, "count") == 0) count();
  if (strcmp(act, "random") == 0) printf("%d\n", (int)getpid());
  if (strcmp(act, "sleep") == 0) sleep_ms(number);
  if (strcmp(act, "leave") == 0) leave();
  if (strcmp(act, "signal") == 0) raise(number);
  return strcmp(act, "exit") == 0 ? number : 0;
}
