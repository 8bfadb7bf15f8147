/* SPDX-License-Identifier: MIT
 * examples/basic: the functions of talus.h beside malloc and free.
 *
 * Linked with the library, malloc and free are Talus, too, and share the heap.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talus/talus.h>

int main(void) {
  printf("compiled for %s, running on %s\n", TALUS_VERSION, talus_version());

  /* A block is a little larger than was asked for, and all of it may be used. */
  const talus_block block = talus_allocate_at_least(1000);
  if (block.pointer == NULL) return 1;
  printf("asked for 1000 bytes, got %zu\n", block.bytes);
  memset(block.pointer, 'x', block.bytes);

  /* Grow where it is, or else move. */
  void* grown = talus_expand(block.pointer, 100000);
  if (grown == NULL) grown = talus_realloc(block.pointer, 100000);
  if (grown == NULL) return 1;
  talus_free_sized(grown, 100000);

  /* A table that grows: what it has more each time is zero. */
  size_t rows = 0;
  int* table = talus_calloc(10, sizeof *table);
  for (rows = 10; table != NULL && rows < 1000; rows *= 2) {
    for (size_t i = 0; i < rows; i++) {
      if (table[i] == 0) table[i] = (int)i;
    }
    int* larger = talus_recalloc(table, rows * 2, sizeof *table);
    if (larger == NULL) talus_free(table);
    table = larger;
  }
  if (table == NULL || table[rows / 2 - 1] != (int)(rows / 2 - 1) || table[rows - 1] != 0) return 1;
  talus_free(table);

  /* The same heap: free takes blocks of talus_strdup, and the other way round. */
  free(talus_strdup("a text"));
  talus_free(strdup("another text"));
  return 0;
}
