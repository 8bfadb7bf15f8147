/* SPDX-License-Identifier: MIT
 * tests/entry/filtered_end: a program that has given memory back confines itself, and ends.
 *
 * Its filter kills for all calls except the ones that malloc needs, so the end must not make
 * others. That holds for the background thread, too, which was there, or still is.
 *
 *   filtered_end prctl    the filter comes by libc's function
 *   filtered_end twice    and another one, while the first is in force
 *   filtered_end raw      by an instruction of the program's own, which no library sees
 * Exit status 77: there are no filters here.
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"
#include "kernel_by_hand.h"

enum { block_count = 400, block_bytes = 100000 };

static void gives_memory_back(void) {
  static void* blocks[block_count];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < block_count; i++) {
      blocks[i] = malloc(block_bytes);
      EXPECT(blocks[i] != NULL);
      memset(blocks[i], 1, block_bytes);
    }
    for (int i = 0; i < block_count; i++) free(blocks[i]);
    usleep(300000);
  }
}

static const int allowed[] = {SYS_mmap,         SYS_munmap,  SYS_mremap,       SYS_brk,
                              SYS_mprotect,     SYS_madvise, SYS_futex,        SYS_write,
                              SYS_exit,         SYS_prctl,   SYS_rt_sigreturn, SYS_exit_group,
                              SYS_clock_gettime};
enum { allowed_count = sizeof allowed / sizeof allowed[0] };

static struct sock_filter rules[2 * allowed_count + 2];

static struct sock_fprog make_filter(void) {
  unsigned short count = 0;
  rules[count++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < allowed_count; i++) {
    rules[count++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
    rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  return (struct sock_fprog){count, rules};
}

static int call_prctl(long option, long a, long b) { return prctl((int)option, a, b, 0L, 0L); }
static int call_raw(long option, long a, long b) {
  return (int)ask_kernel(SYS_prctl, option, a, b);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  const int is_raw = strcmp(argv[1], "raw") == 0;
  int (*const call)(long, long, long) = is_raw ? call_raw : call_prctl;
  const struct sock_fprog filter = make_filter();
  gives_memory_back();
  if (call(PR_SET_NO_NEW_PRIVS, 1, 0) != 0) return 77;
  if (call(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter) != 0) return 77;
  if (strcmp(argv[1], "twice") == 0) {
    EXPECT(call(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter) == 0);
  }
  for (int i = 0; i < 2000; i++) free(malloc((size_t)i * 100));
  exit(0);
}
