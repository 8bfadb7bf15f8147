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
#endif
}

// The base of the calling thread's own storage; different for each living thread.
TALUS_FAST uintptr_t thread_pointer() noexcept {
  uintptr_t pointer = 0;
#if defined(__x86_64__)
  asm("movq %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
  return pointer;
}

// The kernel's result: -4095 to -1 is a negated error number.
TALUS_FAST long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
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
#else
#error "Talus supports x86-64 and AArch64"
#endif
}

}  // namespace talus::core::arch

#endif  // TALUS_ARCH_ARCH_HPP
