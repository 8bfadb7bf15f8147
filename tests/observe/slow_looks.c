/* SPDX-License-Identifier: MIT */
/* tests/observe/slow_looks: preloaded into the command, makes each of its looks wait.
 *
 * Owns: the count of looks and of reads, written to the file TALUS_TEST_COUNTS at the end. Each
 * look begins with a wait of TALUS_TEST_LOOK_MS.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long looks, reads;

/* A look reads the count of changes first, a lock, and the count again: begin_look(). */
ssize_t process_vm_readv(pid_t pid, const struct iovec* local, unsigned long local_count,
                         const struct iovec* remote, unsigned long remote_count,
                         unsigned long flags) {
  reads++;
  if (remote_count == 3 && remote[0].iov_base == remote[2].iov_base) {
    const char* const ms = getenv("TALUS_TEST_LOOK_MS");
    const long wait_ms = ms != NULL ? atol(ms) : 0;
    const struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
    looks++;
    nanosleep(&wait, NULL);
  }
  return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}

__attribute__((destructor)) static void tell(void) {
  const char* const path = getenv("TALUS_TEST_COUNTS");
  FILE* const file = path != NULL ? fopen(path, "we") : NULL;
  if (file == NULL) return;
  fprintf(file, "%ld %ld\n", looks, reads);
  fclose(file);
}
