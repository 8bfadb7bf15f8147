// SPDX-License-Identifier: MIT
// tests/observe/mistaken: a program that makes one mistake with a guarded block.
//
// Owns: functions with names of their own, so that each stack can be known again. Arguments: which
// mistake; how many bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone))

static volatile char sink;
// Nothing is known of a block that went through here.
static void* hide(void* block) {
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

SITE void* allocate_here(size_t bytes) {
  void* const block = hide(malloc(bytes));
  sink = 1;
  return block;
}
SITE void free_here(void* block) {
  free(hide(block));
  sink = 2;
}
SITE void free_again(void* block) {
  free(hide(block));
  sink = 3;
}
SITE void write_here(volatile char* at) {
  *at = 1;
  sink = 4;
}
SITE void read_here(const volatile char* at) {
  sink = *at;
  sink = 5;
}

// A mapping of its own before another without access: the page of a guarded block.
static int is_guarded(const void* block) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[512];
  int found = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin = 0, end = 0;
    if (sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    const int has = (unsigned long)block >= begin && (unsigned long)block < end;
    if (has) found = end - begin == (unsigned long)sysconf(_SC_PAGESIZE);
  }
  fclose(maps);
  return found;
}
static char* guarded_block(size_t bytes, int is_at_start) {
  for (;;) {
    for (int i = 0; i < 100; i++) free(allocate_here(bytes));
    char* const block = allocate_here(bytes);
    const int begins = (unsigned long)block % (unsigned long)sysconf(_SC_PAGESIZE) == 0;
    if (begins == is_at_start && is_guarded(block)) return block;
    free(block);
  }
}

int main(int count, char** words) {
  if (count != 3) return 2;
  const char* const mistake = words[1];
  const size_t bytes = strtoul(words[2], NULL, 10);
  const int is_at_start = strcmp(mistake, "overrun") != 0;
  char* const block = guarded_block(bytes, is_at_start);
  printf("%p\n", (void*)block);
  fflush(stdout);
  if (strcmp(mistake, "overrun") == 0) write_here(block + bytes);
  if (strcmp(mistake, "underrun") == 0) write_here(block - 3);
  if (strcmp(mistake, "wait") == 0) return getchar() == EOF;
  if (strcmp(mistake, "damage") == 0) write_here(block + bytes);
  if (strcmp(mistake, "inside") == 0) free_here(block + 8);
  free_here(block);
  if (strcmp(mistake, "after") == 0) read_here(block + 5);
  if (strcmp(mistake, "twice") == 0) free_again(block);
  if (strcmp(mistake, "null") == 0) write_here(NULL);
  return 0;
}
