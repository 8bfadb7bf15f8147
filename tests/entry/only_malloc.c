/* SPDX-License-Identifier: MIT
 * tests/entry/only_malloc: a program that names nothing of Talus.
 *
 * The linker takes from an archive only what is asked for; this program asks for little, and must
 * get a whole allocator all the same. malloc_info tells whose heap it is: glibc's lists arenas with
 * <sizes>, Talus's does not.
 */
#include "expect.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void whose_heap(void) {
  static char text[65536];
  FILE* file = tmpfile();
  EXPECT(file != NULL);
  EXPECT(malloc_info(0, file) == 0);
  rewind(file);
  EXPECT(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  EXPECT(strstr(text, "<malloc version=") != NULL);
  EXPECT(strstr(text, "type=\"retained\"") != NULL);
}

static void blocks(void) {
  for (size_t bytes = 1; bytes < 20000; bytes += 13) {
    unsigned char* block = calloc(1, bytes);
    EXPECT(block != NULL && block[0] == 0 && block[bytes - 1] == 0);
    memset(block, 0x5a, bytes);
    block = realloc(block, bytes * 2);
    EXPECT(block != NULL && block[bytes - 1] == 0x5a);
    free(block);
  }
  EXPECT(malloc_usable_size(NULL) == 0);
}

/* The fork handlers are part of the start, which comes with any member of the archive. */
static void child(void) {
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    void* block = malloc(1000);
    free(block);
    _exit(block != NULL ? 0 : 1);
  }
  int status = 1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void) {
  blocks();
  whose_heap();
  child();
  return 0;
}
