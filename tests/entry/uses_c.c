/* SPDX-License-Identifier: MIT
 * tests/entry/uses_c: a C program that uses both malloc and the names of talus.h.
 *
 * Shows that they are one heap: talus_usable_size reports and ends the process when malloc's block
 * is another allocator's. Threads pass blocks on, and the C library's own calls of malloc are
 * freed here. Silent, exit status 0 when all is well.
 */
#include "expect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <talus/talus.h>

static void* mine[4][500];

static void* free_the_neighbours(void* argument) {
  void** blocks = argument;
  for (int i = 0; i < 500; i++) {
    free(blocks[i]);
    blocks[i] = talus_malloc((size_t)(i * 37));
    EXPECT(blocks[i] != NULL);
  }
  return NULL;
}

static void one_heap(void) {
  EXPECT(strcmp(talus_version(), TALUS_VERSION) == 0);
  const size_t sizes[] = {0, 1, 100, 5000, 40000, 3 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    void* block = malloc(sizes[i]);
    EXPECT(block != NULL && talus_usable_size(block) >= sizes[i]);
    EXPECT(talus_usable_size(block) == talus_good_size(sizes[i]));
    talus_free(block);
    block = talus_malloc(sizes[i]);
    block = realloc(block, sizes[i] + 1);
    EXPECT(block != NULL && talus_usable_size(block) > sizes[i]);
    free(block);
  }
}

static void libc_uses_it(void) {
  char* copy = strdup("a text that the C library copies");
  EXPECT(copy != NULL && talus_usable_size(copy) >= strlen(copy) + 1);
  free(copy);
  char* path = realpath("/", NULL);
  EXPECT(path != NULL && talus_usable_size(path) >= 2);
  free(path);
}

static void threads(void) {
  pthread_t thread[4];
  for (int t = 0; t < 4; t++) {
    for (int i = 0; i < 500; i++) mine[t][i] = malloc((size_t)(16 + i));
  }
  for (int t = 0; t < 4; t++) {
    EXPECT(pthread_create(&thread[t], NULL, free_the_neighbours, mine[t]) == 0);
  }
  for (int t = 0; t < 4; t++) {
    EXPECT(pthread_join(thread[t], NULL) == 0);
    for (int i = 0; i < 500; i++) free(mine[t][i]);
  }
}

int main(void) {
  one_heap();
  libc_uses_it();
  threads();
  return 0;
}
