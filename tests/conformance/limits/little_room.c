/* Where few addresses are left when the first block is asked for, what is left serves (N20).
 *
 * A child limits its addresses (RLIMIT_AS) to what it has and 2 to 12 MiB more, and takes blocks
 * of 1000 bytes until it is refused. A third of what is left must be usable, and 70 % from 8 MiB
 * on: an allocator may need a map of addresses, but not refuse all because its usual piece is too
 * large. C alone, so that nothing was allocated before. Prints what fails on stderr; exit status 0
 * is a pass.
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of addresses that the process has now. */
static size_t address_bytes(void) {
  char text[64] = {0};
  int file = open("/proc/self/statm", O_RDONLY);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) _exit(3);
  close(file);
  return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t expected_of(size_t bytes) {
  return bytes < (size_t)8 << 20 ? bytes / 3 : bytes / 10 * 7;
}

/* 0: as much as expected was usable. */
static int use_what_is_left(size_t bytes) {
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = address_bytes() + bytes;
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 3;
  size_t used = 0;
  for (;;) {
    char* block = malloc(1000);
    if (block == NULL) return used >= expected_of(bytes) ? 0 : 1;
    memset(block, 1, 1000);
    used += 1000;
  }
}

int main(void) {
  static int answers[48];
  int failures = 0;
  for (int step = 0; step < 48; step++) {
    const size_t bytes = ((size_t)2048 + 217 * (size_t)step) << 10;
    const pid_t child = fork();
    if (child == 0) _exit(use_what_is_left(bytes));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 3;
    answers[step] = WIFEXITED(status) ? WEXITSTATUS(status) : 4;
    failures += answers[step] != 0;
  }
  for (int step = 0; step < 48; step++) {
    if (answers[step] == 0) continue;
    const size_t kib = 2048 + 217 * (size_t)step;
    fprintf(stderr, "expected: %zu of %zu KiB are usable (answer %d)\n",
            expected_of(kib << 10) >> 10, kib, answers[step]);
  }
  return failures != 0;
}
