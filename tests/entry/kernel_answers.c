/* SPDX-License-Identifier: MIT
 * tests/entry/kernel_answers: a sandbox or an emulator that answers a call of the kernel with 0 and
 * does nothing. Contents must not depend on it.   Usage: kernel_answers advice|moves [COMMAND]
 *
 * The program installs a filter of system calls and runs itself anew behind it, so that Talus
 * starts there; or another command. Preloaded with libtalus.so.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

static void answer_zero(uint32_t call) {
  struct sock_filter rows[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rows / sizeof rows[0], rows};
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(77);
}

static int is_zero(const char* block, size_t bytes) {
  return block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0;
}

/* Dirty blocks are freed, given time or trimmed, and come again from calloc. */
static void free_and_calloc(size_t bytes, size_t count, int trims) {
  char** blocks = malloc(count * sizeof *blocks);
  for (size_t i = 0; i < count; i++) {
    blocks[i] = malloc(bytes);
    memset(blocks[i], 0xab, bytes);
  }
  for (size_t i = 0; i < count; i++) free(blocks[i]);
  if (trims) {
    malloc_trim(0);
  } else {
    usleep(600000);
  }
  for (size_t i = 0; i < count; i++) {
    blocks[i] = calloc(1, bytes);
    EXPECT(is_zero(blocks[i], bytes));
  }
  for (size_t i = 0; i < count; i++) free(blocks[i]);
  free(blocks);
}

static void test_advice(void) {
  static const size_t sizes[] = {64, 5000, 40000, 300000, 3000000, 50000000};
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page[0] = 1;
  EXPECT(madvise(page, 4096, MADV_DONTNEED) == 0 && page[0] == 1); /* the filter is there */
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t count = (32u << 20) / sizes[i] + 2;
    if (count > 20000) count = 20000;
    free_and_calloc(sizes[i], count, 0);
    free_and_calloc(sizes[i], count, 1);
  }
  /* A zeroed block shrinks in place, and what it gave away comes again. */
  for (int i = 0; i < 8; i++) {
    char* block = malloc(8u << 20);
    memset(block, 0xab, 8u << 20);
    block = realloc(block, 1u << 20);
    char* other = calloc(1, 7u << 20);
    EXPECT(is_zero(other, 7u << 20));
    free(block);
    free(other);
  }
}

/* Blocks that grow are moved by the kernel, page by page. */
static void test_moves(void) {
  for (int round = 0; round < 4; round++) {
    size_t bytes = 4u << 20;
    char* block = malloc(bytes);
    memset(block, 0x5a, bytes);
    while (bytes < (64u << 20)) {
      void* barrier = malloc(bytes); /* in the way of growing in place */
      block = realloc(block, 2 * bytes);
      EXPECT(block[0] == 0x5a && memcmp(block, block + 1, bytes - 1) == 0);
      memset(block + bytes, 0x5a, bytes);
      bytes *= 2;
      free(barrier);
    }
    free(block);
    block = calloc(1, bytes);
    EXPECT(is_zero(block, bytes));
    free(block);
  }
}

int main(int argc, char** argv) {
  EXPECT(argc >= 2);
  const int is_advice = strcmp(argv[1], "advice") == 0;
  if (argc > 2 || getenv("BEHIND_FILTER") == NULL) {
    answer_zero(is_advice ? SYS_madvise : SYS_mremap);
    setenv("BEHIND_FILTER", "1", 1);
    execv(argc > 2 ? argv[2] : "/proc/self/exe", argc > 2 ? argv + 2 : argv);
    return 1;
  }
  if (is_advice) {
    test_advice();
  } else {
    test_moves();
  }
  return 0;
}
