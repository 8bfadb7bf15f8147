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
// supplements of the processors, "thread-local storage".
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
  void* self;  // x86-64 and s390x: the thread pointer itself
  void* nothing[4];
  uintptr_t guard;  // x86-64 and s390x: what the stack protector compares with
  void* nothing_more[2];

  // Bytes before and behind that are readable and zero. The thread pointer of ppc64le is 28 KiB
  // behind what it is about.
#if defined(__powerpc64__)
  static constexpr size_t reach = size_t{64} << 10;
#else
  static constexpr size_t reach = size_t{8} << 10;
#endif
};
static_assert(offsetof(ThreadBlock, guard) == 0x28, "where the stack protector looks");

inline void prepare_thread_block(ThreadBlock& block) noexcept {
  block.self = &block;
#if defined(__x86_64__)
  asm("movq %%fs:0x28, %0" : "=r"(block.guard));
#elif defined(__powerpc64__)
  constexpr size_t guard_before = 0x7010;
  asm("ld %0, -0x7010(13)"
      : "=r"(*reinterpret_cast<uintptr_t*>(reinterpret_cast<uintptr_t>(&block) - guard_before)));
#elif defined(__s390x__)
  block.guard = *reinterpret_cast<uintptr_t*>(thread_pointer() + offsetof(ThreadBlock, guard));
#endif
}

// Runs run() on a new thread, whose stack ends at `stack_top`, a multiple of 16; run() must not
// return. Writes the thread's id to *id before the thread runs. When the thread is gone, the kernel
// writes 0 there and wakes waiters (futex, shared). Result: the id, or a negated error number.
#if defined(__x86_64__)
TALUS_SLOW long clone_thread(void* stack_top, ThreadBlock& block, uint32_t* id,
                             void (*run)()) noexcept {
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
}
#elif defined(__aarch64__)
TALUS_SLOW long clone_thread(void* stack_top, ThreadBlock& block, uint32_t* id,
                             void (*run)()) noexcept {
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
}
#elif defined(__riscv)
TALUS_SLOW long clone_thread(void* stack_top, ThreadBlock& block, uint32_t* id,
                             void (*run)()) noexcept {
  register long a7 asm("a7") = 220;
  register long a0 asm("a0") = thread_flags;
  register void* a1 asm("a1") = stack_top;
  register uint32_t* a2 asm("a2") = id;
  register ThreadBlock* a3 asm("a3") = &block;
  register uint32_t* a4 asm("a4") = id;
  register void (*t1)() asm("t1") = run;
  asm volatile(
      "ecall\n\t"
      "bnez a0, 1f\n\t"
      "li s0, 0\n\t"
      "li ra, 0\n\t"
      "jr t1\n"
      "1:"
      : "+r"(a0)
      : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(t1)
      : "memory");
  return a0;
}
#elif defined(__powerpc64__)
TALUS_SLOW long clone_thread(void* stack_top, ThreadBlock& block, uint32_t* id,
                             void (*run)()) noexcept {
  // Functions write into the frame of their caller: its head is 32 bytes, and begins with a null.
  char* const frame = static_cast<char*>(stack_top) - 112;
  *reinterpret_cast<uintptr_t*>(frame) = 0;
  register long r0 asm("r0") = 120;
  register long r3 asm("r3") = thread_flags;
  register void* r4 asm("r4") = frame;
  register uint32_t* r5 asm("r5") = id;
  register ThreadBlock* r6 asm("r6") = &block;
  register uint32_t* r7 asm("r7") = id;
  register void (*r12)() asm("r12") = run;  // a function finds its constants by its address there
  asm volatile(
      "sc\n\t"
      "bns+ 2f\n\t"
      "neg %1, %1\n\t"
      "b 1f\n"
      "2:\n\t"
      "cmpdi 0, 3, 0\n\t"
      "bne 0, 1f\n\t"
      "li 0, 0\n\t"
      "mtlr 0\n\t"
      "li 31, 0\n\t"
      "mtctr 12\n\t"
      "bctr\n"
      "1:"
      : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r12)
      :
      : "r8", "r9", "r10", "r11", "cr0", "ctr", "lr", "memory");
  return r3;
}
#elif defined(__s390x__)
TALUS_SLOW long clone_thread(void* stack_top, ThreadBlock& block, uint32_t* id,
                             void (*run)()) noexcept {
  // Functions write into the 160 bytes above their frame, which begin with a null.
  char* const frame = static_cast<char*>(stack_top) - 160;
  *reinterpret_cast<uintptr_t*>(frame) = 0;
  register long r1 asm("r1") = 120;
  register void* r2 asm("r2") = frame;
  register long r3 asm("r3") = thread_flags;
  register uint32_t* r4 asm("r4") = id;
  register uint32_t* r5 asm("r5") = id;
  register ThreadBlock* r6 asm("r6") = &block;
  register void (*r7)() asm("r7") = run;
  asm volatile(
      "svc 0\n\t"
      "ltgr %%r2, %%r2\n\t"
      "jnz 1f\n\t"
      "lghi %%r11, 0\n\t"
      "lghi %%r14, 0\n\t"
      "br %%r7\n"
      "1:"
      : "+r"(r2)
      : "r"(r1), "r"(r3), "r"(r4), "r"(r5), "r"(r6), "r"(r7)
      : "memory", "cc");
  return reinterpret_cast<long>(r2);
}
#endif

// Ends the calling thread. Another thread may use its stack at once, so nothing is touched on the
// way.
[[noreturn]] TALUS_FAST void exit_thread() noexcept {
#if defined(__x86_64__)
  constexpr long exit_number = 60;
#elif defined(__powerpc64__) || defined(__s390x__)
  constexpr long exit_number = 1;
#else
  constexpr long exit_number = 93;
#endif
  for (;;) system_call(exit_number, 0, 0, 0, 0, 0, 0);
}

}  // namespace talus::core::arch

#endif  // TALUS_ARCH_CLONE_HPP
