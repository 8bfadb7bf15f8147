/* SPDX-License-Identifier: MIT
 * tests/entry/plain_threads: threads that allocate, resize and free, with nothing but POSIX.
 *
 * For emulators, beside which forks stand still now and then. Silent; 0 when all is well, 1 where
 * Talus is not in the process.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <talus/talus.h>

enum { thread_count = 4, rounds = 20000 };

static void* work(void* seed) {
  for (size_t i = 1; i < rounds; i++) {
    const size_t bytes = i * 37 % 9000;
    char* block = malloc(bytes + 1);
    if (block == NULL) exit(2);
    memset(block, 1, bytes);
    free(realloc(block, i % 100 == 0 ? 3000000 : i % 500 + 1));
  }
  return seed;
}

int main(void) {
  pthread_t threads[thread_count];
  void* block = malloc(100);
  if (talus_usable_size(block) < 100) return 1;
  for (int i = 0; i < thread_count; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
  free(block);
  return 0;
}
