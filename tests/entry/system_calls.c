/* SPDX-License-Identifier: MIT
 * tests/entry/system_calls: syscall() with Talus before libc, and another library in between.
 *
 * Arguments, results and errno must pass as without Talus, guarded calls or not. The library behind
 * Talus must see each call. Nothing of the caller's may be written to, though the last argument,
 * where there is none, lies among the caller's variables. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern long syscalls_seen;

static void six_arguments(void) {
  const long page = sysconf(_SC_PAGESIZE);
  const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY);
  EXPECT(file >= 0);
  /* The offset is the sixth. */
  const long first = syscall(SYS_mmap, NULL, page, PROT_READ, MAP_PRIVATE, file, 0L);
  const long second = syscall(SYS_mmap, NULL, page, PROT_READ, MAP_PRIVATE, file, page);
  char contents[16];
  EXPECT(memcmp((char*)first, "\177ELF", 4) == 0);
  EXPECT(pread(file, contents, 16, page) == 16 && memcmp((char*)second, contents, 16) == 0);
  EXPECT(syscall(SYS_close, file) == 0);
}

static void errors(void) {
  errno = 0;
  EXPECT(syscall(SYS_close, -1) == -1 && errno == EBADF);
  errno = 0;
  EXPECT(syscall(100000) == -1 && errno == ENOSYS);
  errno = 0;
  EXPECT(syscall(-5) == -1 && errno == ENOSYS);
  errno = 0;
  EXPECT(syscall(SYS_setns, -1, 0) == -1 && errno == EBADF);
  errno = 0;
  EXPECT(syscall(SYS_prctl, -5, 0, 0, 0, 0) == -1 && errno == EINVAL);
  errno = 7;
  EXPECT(syscall(SYS_getpid) == getpid() && errno == 7);
}

#if defined(__x86_64__)
_Static_assert(SYS_getppid == 110, "what the loop below calls");

/* A word where the last argument would lie, to which another thread adds all the time. */
static long* volatile shared_word;

static void* adds(void* unused) {
  (void)unused;
  long* word;
  while ((word = shared_word) == NULL) sched_yield();
  for (int i = 0; i < 2000000; i++) __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(word, 1l << 40, __ATOMIC_RELEASE);
  return NULL;
}

/* Calls getppid again and again with that word on top of its stack; returns the word in the end. */
long call_beside_word(long** place);
__asm__(
    ".text\n"
    ".type call_beside_word, @function\n"
    "call_beside_word:\n"
    "  pushq $0\n"
    "  movq %rsp, (%rdi)\n"
    "1: movl $110, %edi\n"
    "  call syscall@PLT\n"
    "  movq (%rsp), %rax\n"
    "  shrq $40, %rax\n"
    "  jz 1b\n"
    "  popq %rax\n"
    "  ret\n"
    ".size call_beside_word, . - call_beside_word\n");

static void callers_stack(void) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, adds, NULL) == 0);
  EXPECT(call_beside_word((long**)&shared_word) == (1l << 40) + 2000000);
  EXPECT(pthread_join(thread, NULL) == 0);
}
#endif

int main(void) {
  six_arguments();
  errors();
  EXPECT(syscalls_seen == 4 + 6);
#if defined(__x86_64__)
  callers_stack();
#endif
  return 0;
}
