// SPDX-License-Identifier: MIT
// arch/clone: a thread that the C library does not know.
//
// Owns: the creation of such a thread, and the block behind its thread pointer. A thread of the C
// library would end the library's single-threaded short cuts, allocate, and run foreign code.
// Invariants: the flags are those of pthread_create, because sandboxes allow no others. The new
// thread never returns into frames of its creator: it begins in run(), below which lies a null,
// where unwinders stop. A jump enters run(), so that the thread's shadow stack, which the kernel
// provides, sees no return without a call.
// The thread pointer of the creator would point to memory that is freed when the creator ends. So
// the thread has a block of its own, which holds what compilers and debuggers look for.
// Thread-local variables do not exist in it. A read of one finds zeros, because memory before and
// behind is reserved for that (ThreadBlock::reach), and no address of it belongs to a variable.
// Called on: any thread. Must not know: what the thread does. Sources: clone(2); the System V ABI
// supplements of x86-64 and AArch64, "thread-local storage".
#ifndef TALUS_ARCH_CLONE_HPP
#define TALUS_ARCH_CLONE_HPP

#include "base/base.hpp"
#include "arch/arch.hpp"

// The sanitizers' runtimes must know each thread, so there a thread of the C library is used. Only
// this condition decides.
#if TALUS_UNDER_TSAN || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_HWADDRESS__)
#define TALUS_RAW_THREADS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(hwaddress_sanitizer)
#define TALUS_RAW_THREADS 0
#endif
#endif
#ifndef TALUS_RAW_THREADS
#define TALUS_RAW_THREADS 1
#endif

namespace talus::core::arch {

// VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID, CHILD_CLEARTID.
inline constexpr long thread_flags =
    0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000 | 0x100000 | 0x200000;

// What a thread pointer points to.
struct ThreadBlock {
  void* self;  // x86-64: %fs:0 is the thread pointer itself
  void* nothing[4];
  uintptr_t guard;  // x86-64: %fs:0x28, what the stack protector compares with
  void* nothing_more[2];

  // Bytes before and behind that are readable and zero.
  static constexpr size_t reach = size_t{8} << 10;
};
static_assert(offsetof(ThreadBlock, guard) == 0x28, "where the stack protector looks");

inline void prepare_thread_block(ThreadBlock& block) noexcept {
  block.self = &block;
#if defined(__x86_64__)
  asm("movq %%fs:0x28, %0" : "=r"(block.guard));
#endif
}

// Runs run() on a new thread, whose stack ends at `stack_top`, a multiple of 16; run() must not
// return. Writes the thread's id to *id before the thread runs. When the thread is gone, the kernel
// writes 0 there and wakes waiters (futex, shared). Result: the id, or a negated error number.
TALUS_SLOW long clone_thread(void* stack_top, ThreadBlock& block, uint32_t* id,
                             void (*run)()) noexcept {
#if defined(__x86_64__)
  long result = 56;
  register uint32_t* r10 asm("r10") = id;
  register ThreadBlock* r8 asm("r8") = &block;
  register void (*r9)() asm("r9") = run;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "pushq $0\n\t"
      "jmp *%%r9\n"
      "1:"
      : "+a"(result)
      : "D"(thread_flags), "S"(stack_top), "d"(id), "r"(r10), "r"(r8), "r"(r9)
      : "rcx", "r11", "memory", "cc");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = 220;
  register long x0 asm("x0") = thread_flags;
  register void* x1 asm("x1") = stack_top;
  register uint32_t* x2 asm("x2") = id;
  register ThreadBlock* x3 asm("x3") = &block;
  register uint32_t* x4 asm("x4") = id;
  register void (*x16)() asm("x16") = run;  // a branch by x16 may enter any function
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, #0\n\t"
      "mov x30, #0\n\t"
      "br x16\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x16)
      : "memory", "cc");
  return x0;
#endif
}

// Ends the calling thread. Another thread may use its stack at once, so nothing is touched on the
// way.
[[noreturn]] TALUS_FAST void exit_thread() noexcept {
#if defined(__x86_64__)
  constexpr long exit_number = 60;
#else
  constexpr long exit_number = 93;
#endif
  for (;;) system_call(exit_number, 0, 0, 0, 0, 0, 0);
}

}  // namespace talus::core::arch

#endif  // TALUS_ARCH_CLONE_HPP
