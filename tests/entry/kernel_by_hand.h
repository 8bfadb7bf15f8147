/* SPDX-License-Identifier: MIT
 * tests/entry/kernel_by_hand: what programs do to the kernel that Talus cannot see coming.
 *
 * Owns: a system call by an instruction of the program's own, and a filter that traps mmap. With
 * the filter a signal comes while the heap holds the lock of its addresses.
 */
#ifndef TALUS_TESTS_ENTRY_KERNEL_BY_HAND_H
#define TALUS_TESTS_ENTRY_KERNEL_BY_HAND_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

/* The fourth and the fifth argument are 0. Other processors: -1, nothing was asked. */
static inline long ask_kernel(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result = number;
  register long d __asm__("r10") = 0;
  register long e __asm__("r8") = 0;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(d), "r"(e)
                   : "rcx", "r11", "memory");
  return result;
#else
  (void)number, (void)a, (void)b, (void)c;
  return -1;
#endif
}

/* A filter under which mmap raises SIGSYS. The rules live as long as the process. */
static inline struct sock_fprog trap_of_mmap(void) {
  static struct sock_filter rules[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mmap},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  return (struct sock_fprog){sizeof rules / sizeof rules[0], rules};
}

#endif /* TALUS_TESTS_ENTRY_KERNEL_BY_HAND_H */
