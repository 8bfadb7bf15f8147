/* SPDX-License-Identifier: MIT
 * tests/entry/secure_work: says if it runs with rights from its file, and frees a stranger.
 *
 * Linked with Talus. The first line on descriptor 1 is `secure 1` or `secure 0` (AT_SECURE). The
 * next is `helper 1` or `helper 0`: whether a second thread comes when there is much to give back.
 * Then it frees a pointer that is no block. By default that ends it. If the environment's option to
 * ignore strangers was obeyed, `ignored` follows, and status 0.
 */
#include "expect.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

static char stranger[64];

static int thread_count(void) {
  int count = 0;
  DIR* threads = opendir("/proc/self/task");
  EXPECT(threads != NULL);
  for (const struct dirent* each; (each = readdir(threads)) != NULL;) {
    count += each->d_name[0] != '.';
  }
  closedir(threads);
  return count;
}

/* Memory that is used again after it went back needs a helper; what went before, a process of one
 * thread gives back by its own calls (reclaim/early_purge.hpp). */
static int has_helper(void) {
  static void* blocks[8];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 8; i++) {
      blocks[i] = malloc(1 << 20);
      EXPECT(blocks[i] != NULL);
      memset(blocks[i], 1, 1 << 20);
    }
    for (int i = 0; i < 8; i++) free(blocks[i]);
  }
  for (int wait = 0; wait < 15; wait++) {
    if (thread_count() == 2) return 1;
    const struct timespec span = {0, 10000000};
    nanosleep(&span, NULL);
  }
  return 0;
}

int main(void) {
  const char* answer = getauxval(AT_SECURE) != 0 ? "secure 1\n" : "secure 0\n";
  EXPECT(write(1, answer, 9) == 9);
  for (size_t i = 0; i < 2000; i++) {
    void* volatile block = malloc(i);
    EXPECT(block != NULL);
    free(block);
  }
  EXPECT(write(1, has_helper() ? "helper 1\n" : "helper 0\n", 9) == 9);
  char* volatile pointer = stranger + 16;
  free(pointer);
  EXPECT(write(1, "ignored\n", 8) == 8);
  return 0;
}
