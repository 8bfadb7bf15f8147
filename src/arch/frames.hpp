// SPDX-License-Identifier: MIT
// arch/frames: what a walk through the stack must know of the processor.
//
// Owns: DWARF's numbers of the registers that a walk follows, the registers of the calling
// function, and where they lie in a signal frame. It also knows what libc lays above a stack.
// Sources: the processors' supplements to the System V ABI and to DWARF, and the kernel's struct
// rt_sigframe. Called on: any thread.
// Must not know: how frames are found.
#ifndef TALUS_ARCH_FRAMES_HPP
#define TALUS_ARCH_FRAMES_HPP

#include "base/base.hpp"

namespace talus::core::arch {

// `link` is the register of the return address, where there is one.
struct Registers {
  uintptr_t pc = 0, sp = 0, fp = 0, link = 0;
};

#if defined(__x86_64__)
inline constexpr uint64_t fp_number = 6, sp_number = 7, return_number = 16;
inline constexpr bool has_link_register = false;
// From the stack pointer at which a signal handler returns: the context of the interrupted code.
inline constexpr size_t signal_fp = 40 + 10 * 8, signal_sp = 40 + 15 * 8, signal_pc = 40 + 16 * 8;
inline constexpr size_t signal_link = 0;  // none
// mov $15, %rax; syscall
inline constexpr uint8_t signal_return_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#elif defined(__aarch64__)
inline constexpr uint64_t fp_number = 29, sp_number = 31, return_number = 30;
inline constexpr bool has_link_register = true;
inline constexpr size_t signal_registers = 128 + 176 + 8;  // siginfo, then up to the register x0
inline constexpr size_t signal_fp = signal_registers + 29 * 8;
inline constexpr size_t signal_link = signal_registers + 30 * 8;
inline constexpr size_t signal_sp = signal_registers + 31 * 8;
inline constexpr size_t signal_pc = signal_registers + 32 * 8;
// mov x8, #139; svc #0
inline constexpr uint8_t signal_return_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#elif defined(__riscv)
inline constexpr uint64_t fp_number = 8, sp_number = 2, return_number = 1;
inline constexpr bool has_link_register = true;
inline constexpr size_t signal_pc = 128 + 176;  // siginfo, then up to the registers, pc first
inline constexpr size_t signal_link = signal_pc + 1 * 8;
inline constexpr size_t signal_sp = signal_pc + 2 * 8;
inline constexpr size_t signal_fp = signal_pc + 8 * 8;
// li a7, 139; ecall
inline constexpr uint8_t signal_return_code[] = {0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0};
#elif defined(__powerpc64__)
inline constexpr uint64_t fp_number = 31, sp_number = 1, return_number = 65;
inline constexpr bool has_link_register = true;
// Behind the handler's frame lies struct ucontext, whose registers begin there.
inline constexpr size_t signal_registers = 128 + 168 + 64;
inline constexpr size_t signal_sp = signal_registers + 1 * 8;
inline constexpr size_t signal_fp = signal_registers + 31 * 8;
inline constexpr size_t signal_pc = signal_registers + 32 * 8;
inline constexpr size_t signal_link = signal_registers + 36 * 8;
// addi r1, r1, 128; li r0, 172; sc
inline constexpr uint8_t signal_return_code[] = {0x80, 0,    0x21, 0x38, 0xac, 0,
                                                 0,    0x38, 2,    0,    0,    0x44};
#elif defined(__s390x__)
inline constexpr uint64_t fp_number = 11, sp_number = 15, return_number = 14;
inline constexpr bool has_link_register = true;
// The handler's frame, a number, siginfo, then in struct ucontext: the mask and the address of the
// program, and the registers.
inline constexpr size_t signal_words = 160 + 8 + 128 + 40;
inline constexpr size_t signal_pc = signal_words + 8;
inline constexpr size_t signal_registers = signal_words + 16;
inline constexpr size_t signal_fp = signal_registers + 11 * 8;
inline constexpr size_t signal_link = signal_registers + 14 * 8;
inline constexpr size_t signal_sp = signal_registers + 15 * 8;
// svc 173
inline constexpr uint8_t signal_return_code[] = {0x0a, 0xad};
#endif
// On s390x, a handler without siginfo returns by another call, and its frame lacks these bytes.
#if defined(__s390x__)
inline constexpr bool has_bare_signals = true;
inline constexpr size_t bare_signal_lacks = 160;
inline constexpr uint8_t bare_signal_return_code[] = {0x0a, 0x77};  // svc 119
#else
inline constexpr bool has_bare_signals = false;
inline constexpr size_t bare_signal_lacks = 0;
inline constexpr uint8_t bare_signal_return_code[] = {0};
#endif
// From where libc's descriptor of a thread ends to the thread pointer.
#if defined(__powerpc64__)
inline constexpr uintptr_t thread_pointer_above = 0x7000;
#else
inline constexpr uintptr_t thread_pointer_above = 0;
#endif
// From the caller's stack pointer to the canonical frame address.
#if defined(__s390x__)
inline constexpr uintptr_t cfa_above_sp = 160;
#else
inline constexpr uintptr_t cfa_above_sp = 0;
#endif
static_assert(signal_fp % 8 == 0 && signal_sp % 8 == 0 && signal_pc % 8 == 0, "whole words");

// Of the function that this becomes a part of.
TALUS_FAST Registers current_registers() noexcept {
  Registers found;
#if defined(__x86_64__)
  asm volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
               : "=&r"(found.pc), "=&r"(found.sp), "=&r"(found.fp));
#elif defined(__aarch64__)
  asm volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
               : "=&r"(found.pc), "=&r"(found.sp), "=&r"(found.fp), "=&r"(found.link));
#elif defined(__riscv)
  asm volatile("auipc %0, 0\n\tmv %1, sp\n\tmv %2, s0\n\tmv %3, ra"
               : "=&r"(found.pc), "=&r"(found.sp), "=&r"(found.fp), "=&r"(found.link));
#elif defined(__powerpc64__)
  asm volatile("bcl 20,31,1f\n1:\tmflr %0\n\tmr %1, 1\n\tmr %2, 31"
               : "=&r"(found.pc), "=&r"(found.sp), "=&r"(found.fp)
               :
               : "lr");
#elif defined(__s390x__)
  asm volatile("larl %0, .\n\tlgr %1, %%r15\n\tlgr %2, %%r11\n\tlgr %3, %%r14"
               : "=&r"(found.pc), "=&r"(found.sp), "=&r"(found.fp), "=&r"(found.link));
#endif
  return found;
}

// The address in a return address, which may be signed.
TALUS_FAST uintptr_t code_address(uintptr_t word) noexcept {
#if defined(__aarch64__)
  return word & ((uintptr_t{1} << 48) - 1);
#else
  return word;
#endif
}

}  // namespace talus::core::arch

#endif  // TALUS_ARCH_FRAMES_HPP
