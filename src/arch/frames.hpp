// SPDX-License-Identifier: MIT
// arch/frames: what a walk through the stack must know of the processor.
//
// Owns: DWARF's numbers of the registers that a walk follows, the registers of the calling
// function, and where the kernel keeps them in a signal frame. Sources: System V ABI AMD64
// supplement, DWARF for the Arm 64-bit architecture, and the kernel's struct rt_sigframe. Called
// on: any thread. Must not know: how frames are found.
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
