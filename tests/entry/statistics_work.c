/* SPDX-License-Identifier: MIT
 * tests/entry/statistics_work: does one kind of work, for statistics_test.py to look at.
 *
 *   statistics_work print FORMAT         takes and keeps blocks, prints statistics to stdout;
 *                                        format 4 is what malloc_info prints
 *   statistics_work sleep MILLISECONDS   nothing else; 0: until its input ends
 *   statistics_work steps COUNT          allocates a little each ten milliseconds, and frees it
 *   statistics_work bytes COUNT          allocates and frees COUNT bytes
 *   statistics_work fork MILLISECONDS    a child that allocates, sleeps as above, exits like its
 *                                        parent
 */
#include "expect.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <talus/talus.h>
#include <unistd.h>

static void rest(long milliseconds) {
  char letter;
  if (milliseconds == 0) EXPECT(read(0, &letter, 1) == 0);
  for (; milliseconds > 0; milliseconds -= 10) usleep(10000);
}

static void* waits(void* argument) {
  void* block = malloc(5000);
  pthread_barrier_wait(argument);
  pthread_barrier_wait(argument);
  free(block);
  return NULL;
}

/* Two of one name that is hard to print, one that is cut within a character, one without. */
static void makes_heaps(void) {
  static const char* const names[] = {"<\"&\\\n\t\x1b[1m'>", "<\"&\\\n\t\x1b[1m'>",
                                      "Fu\xc3\x9f"
                                      "gaenger und Radfahrer \xe2\x82\xac\xe2\x82\xac",
                                      NULL};
  for (size_t i = 0; i < 4; i++) {
    const struct talus_heap_options options = {.name = names[i], .limit_bytes = 1 << 20};
    talus_heap* heap = talus_heap_new(&options);
    EXPECT(heap != NULL);
    for (size_t j = 0; j <= i; j++) EXPECT(talus_heap_malloc(heap, 1000) != NULL);
    EXPECT(talus_heap_malloc(heap, 100000) != NULL);
  }
}

static int prints(const char* format) {
  static void* kept[3000];
  pthread_t threads[20];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 21);
  for (size_t i = 0; i < 3000; i++) kept[i] = malloc(i * 11);
  for (size_t i = 0; i < 3000; i += 3) free(kept[i]);
  makes_heaps();
  for (int i = 0; i < 20; i++) EXPECT(pthread_create(&threads[i], NULL, waits, &barrier) == 0);
  pthread_barrier_wait(&barrier);
  const int number = atoi(format);
  const int error =
      number == 4 ? malloc_info(0, stdout) : talus_stats_print(1, (enum talus_stats_format)number);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 20; i++) pthread_join(threads[i], NULL);
  return error;
}

/* Blocks of many classes, so that lists run empty and slow paths are taken. */
static void takes_a_little(void) {
  void* blocks[600];
  for (size_t i = 0; i < 600; i++) blocks[i] = malloc(i * 50);
  for (size_t i = 0; i < 600; i++) free(blocks[i]);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long number = atol(argv[2]);
  if (strcmp(argv[1], "print") == 0) return prints(argv[2]);
  if (strcmp(argv[1], "sleep") == 0) rest(number);
  if (strcmp(argv[1], "steps") == 0) {
    for (long i = 0; i < number; i++) {
      takes_a_little();
      rest(10);
    }
  }
  if (strcmp(argv[1], "bytes") == 0) {
    for (long left = number; left > 0; left -= 10000) free(malloc(10000));
  }
  if (strcmp(argv[1], "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      takes_a_little();
      rest(number);
      exit(0);
    }
    EXPECT(waitpid(child, NULL, 0) == child);
  }
  return 0;
}
