/* SPDX-License-Identifier: MIT
 * tests/entry/report_handler: a crash reporter's handler of SIGABRT works after a reported fault.
 *
 * The fault is noticed in a slow path, with the heap's lock held, which stays so. The handler has
 * memory nevertheless, frees what it had before, and forks a child that does the same; it ends the
 * program itself. One that waits for the lock would be ended by SIGABRT.
 *
 *   report_handler interior|foreign
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

enum { block_count = 3000, block_bytes = 64 };

static char* volatile blocks[block_count];
static char *text, *large;

static int is_filled(const char* block, size_t bytes, char with) {
  for (size_t i = 0; i < bytes; i++) {
    if (block[i] != with) return 0;
  }
  return 1;
}

static void uses_memory(void) {
  for (size_t i = 0; i < 500; i++) {
    char* block = malloc(i * 40);
    EXPECT(block != NULL && (uintptr_t)block % 16 == 0 && malloc_usable_size(block) >= i * 40);
    memset(block, (int)i, i * 40);
    block = realloc(block, i * 40 + 5000);
    EXPECT(block != NULL && is_filled(block, i * 40, (char)i));
    free(block);
  }
  char* zeros = calloc(1000, 1000);
  EXPECT(zeros != NULL && is_filled(zeros, 1000000, 0));
  free(zeros);
  for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 4) {
    void* block = NULL;
    EXPECT(posix_memalign(&block, alignment, 100) == 0 && (uintptr_t)block % alignment == 0);
    memset(block, 1, 100);
    free(block);
  }
  /* Blocks from before the fault. */
  text = realloc(text, 20000);
  EXPECT(text != NULL && strcmp(text, "from before") == 0);
  free(text);
  free(large);
  for (int i = 0; i < block_count; i++) free(blocks[i]);
}

static void handler(int number) {
  (void)number;
  const pid_t child = fork();
  if (child == 0) {
    uses_memory();
    _exit(0);
  }
  int status = -1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  uses_memory();
  _exit(0);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  signal(SIGABRT, handler);
  if (freopen("/dev/null", "w", stderr) == NULL) return 2; /* the line that names the fault */
  text = malloc(100);
  strcpy(text, "from before");
  large = memset(malloc(5 << 20), 1, 5 << 20);
  for (int i = 0; i < block_count; i++) blocks[i] = malloc(block_bytes);
  uintptr_t wrong = (uintptr_t)blocks[10] + block_bytes / 2;
  if (strcmp(argv[1], "foreign") == 0) wrong = (uintptr_t)&wrong;
  free((void*)wrong);
  for (int round = 0; round < 40; round++) {
    for (int i = 0; i < block_count; i++) free(blocks[i]);
    for (int i = 0; i < block_count; i++) blocks[i] = malloc(block_bytes);
  }
  return 77;
}
