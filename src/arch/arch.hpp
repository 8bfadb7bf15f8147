// SPDX-License-Identifier: MIT
// arch: the few facts that depend on the CPU.
//
// Owns: the pause hint, the thread pointer and the raw system call. Invariant: a system call made
// here touches neither errno nor any symbol of libc. So no interposer sees it, and a signal
// handler's errno does not change. Called on: any thread, before libc is ready. Must not know:
// which call is made.
#ifndef TALUS_ARCH_ARCH_HPP
#define TALUS_ARCH_ARCH_HPP

#include "base/base.hpp"

namespace talus::core::arch {

TALUS_FAST void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__riscv)
  asm volatile(".4byte 0x0100000f" ::: "memory");  // pause; a fence of nothing where it is unknown
#elif defined(__powerpc64__)
  asm volatile("or 27,27,27" ::: "memory");  // yield
#else
  asm volatile("" ::: "memory");  // s390x has no such hint
#endif
}

// The base of the calling thread's own storage; different for each living thread.
TALUS_FAST uintptr_t thread_pointer() noexcept {
  uintptr_t pointer = 0;
#if defined(__x86_64__)
  asm("movq %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
#elif defined(__riscv)
  asm("mv %0, tp" : "=r"(pointer));
#elif defined(__powerpc64__)
  asm("mr %0, 13" : "=r"(pointer));
#elif defined(__s390x__)
  asm("ear %0, %%a0\n\tsllg %0, %0, 32\n\tear %0, %%a1" : "=r"(pointer));
#endif
  return pointer;
}

// The kernel's result: -4095 to -1 is a negated error number.
#if defined(__x86_64__)
TALUS_FAST long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
TALUS_FAST long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory", "cc");
  return x0;
}
#elif defined(__riscv)
TALUS_FAST long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long a7 asm("a7") = number;
  register long a0 asm("a0") = a;
  register long a1 asm("a1") = b;
  register long a2 asm("a2") = c;
  register long a3 asm("a3") = d;
  register long a4 asm("a4") = e;
  register long a5 asm("a5") = f;
  asm volatile("ecall"
               : "+r"(a0)
               : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
               : "memory");
  return a0;
}
#elif defined(__powerpc64__)
TALUS_FAST long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long r0 asm("r0") = number;
  register long r3 asm("r3") = a;
  register long r4 asm("r4") = b;
  register long r5 asm("r5") = c;
  register long r6 asm("r6") = d;
  register long r7 asm("r7") = e;
  register long r8 asm("r8") = f;
  // The kernel tells an error by the summary overflow bit, and its number is positive.
  asm volatile(
      "sc\n\t"
      "bns+ 1f\n\t"
      "neg %1, %1\n"
      "1:"
      : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
      :
      : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
  return r3;
}
#elif defined(__s390x__)
TALUS_FAST long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long r1 asm("r1") = number;
  register long r2 asm("r2") = a;
  register long r3 asm("r3") = b;
  register long r4 asm("r4") = c;
  register long r5 asm("r5") = d;
  register long r6 asm("r6") = e;
  register long r7 asm("r7") = f;
  asm volatile("svc 0"
               : "+r"(r2)
               : "r"(r1), "r"(r3), "r"(r4), "r"(r5), "r"(r6), "r"(r7)
               : "memory", "cc");
  return r2;
}
#else
#error "Talus supports x86-64, AArch64, riscv64, ppc64le and s390x"
#endif
#if (defined(__riscv) && __riscv_xlen != 64) || (defined(__powerpc64__) && _CALL_ELF != 2)
#error "of riscv and powerpc, Talus supports riscv64 and ppc64le"
#endif

// How a call of the kernel differs from that of other processors.
#if defined(__s390x__)
inline constexpr bool reads_mmap_in_memory = true;  // the address of the six arguments of mmap
inline constexpr bool has_clone_flags_first = false;
#else
inline constexpr bool reads_mmap_in_memory = false;
inline constexpr bool has_clone_flags_first = true;
#endif

}  // namespace talus::core::arch

#endif  // TALUS_ARCH_ARCH_HPP
