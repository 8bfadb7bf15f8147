// SPDX-License-Identifier: MIT
// entry/system_call: syscall(), for programs that call the kernel without libc's functions.
//
// Sandboxes do this, for example chromium's. unshare of a user namespace fails in a process of two
// threads, and the helper would be the second. A filter for all threads would bind the helper.
//
// Calls that credentials.cpp guards as functions are guarded here too. All others go on by a jump,
// as if this function did not exist: the next function sees the caller's stack and registers, and
// sets errno. Credentials set by syscall() belong to the calling thread alone, so they are guarded
// only while the program has no other thread. The jump also makes copies of the process, because a
// copy may have another stack.
//
// Owns: the name in libtalus.so, which interposes libc. Called on: any thread, also in signal
// handlers and in children of vfork.
#include <errno.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "entry/next_definition.hpp"
#include "entry/without_helper.hpp"

namespace {

using SystemCall = long(long number, long a, long b, long c, long d, long e, long f);

long call_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept {
  return talus::core::answer_of_kernel(talus::core::arch::system_call(number, a, b, c, d, e, f));
}

enum class Guarded : unsigned char { no, copy, rights, process, filter };

// A kernel has a few hundred numbers. The guarded ones are below this bound.
constexpr size_t numbers_end = 448;
static_assert(SYS_seccomp < numbers_end && SYS_setns < numbers_end && SYS_clone3 < numbers_end,
              "each guarded number is in the table");

struct GuardedNumbers {
  Guarded row[numbers_end] = {};
};
constexpr GuardedNumbers guarded_numbers() noexcept {
  GuardedNumbers table;
  for (const long number : {SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
                            SYS_setresgid, SYS_setgroups, SYS_capset}) {
    table.row[number] = Guarded::rights;
  }
  table.row[SYS_unshare] = table.row[SYS_setns] = Guarded::process;
  table.row[SYS_seccomp] = table.row[SYS_prctl] = Guarded::filter;
  table.row[SYS_clone] = table.row[SYS_clone3] = Guarded::copy;
#if defined(SYS_fork)
  table.row[SYS_fork] = Guarded::copy;
#endif
  return table;
}
bool enters_sandbox(long number, long a, long b) noexcept {
  if (number == SYS_prctl) return talus::core::enters_sandbox(a, static_cast<size_t>(b));
  return a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER;
}

}  // namespace

// What the jump below needs by name.
extern "C" {
extern const GuardedNumbers talus_guarded_calls __attribute__((visibility("hidden")));
extern talus::core::Atomic<SystemCall*> talus_next_system_call
    __attribute__((visibility("hidden")));
constexpr GuardedNumbers talus_guarded_calls = guarded_numbers();
talus::core::Atomic<SystemCall*> talus_next_system_call;  // null: not looked up yet

__attribute__((visibility("hidden"))) SystemCall* talus_find_system_call() noexcept {
  const uintptr_t found = talus::core::next_definition("syscall", &talus_guarded_calls);
  auto* next = found != 0 ? reinterpret_cast<SystemCall*>(found) : &call_kernel;
  talus_next_system_call.store_init(next);  // all threads find the same
  return next;
}

__attribute__((visibility("hidden"))) SystemCall* talus_prepare_copy(long number, long a) noexcept {
  // clone3 has its flags in memory, which only the kernel reads safely.
  if (number != SYS_clone || (a & CLONE_VM) == 0) talus::core::end_helper_before_copy();
  return talus_next_system_call.load_init();
}

__attribute__((visibility("hidden"))) long talus_call_guarded(long number, long a, long b, long c,
                                                              long d, long e, long f) noexcept {
  SystemCall* const next = talus_next_system_call.load_init();
  const Guarded kind = talus_guarded_calls.row[number];
  if (kind == Guarded::filter) {
    if (enters_sandbox(number, a, b)) talus::core::end_helper_before_filter();
  } else if (kind == Guarded::process || !talus::core::has_other_threads()) {
    talus::core::WithoutHelper without;
    return next(number, a, b, c, d, e, f);
  }
  return next(number, a, b, c, d, e, f);
}
}

// The caller's stack holds the last argument, or other data that another thread may be writing. So
// it is read for a guarded call only, and never written. In C++ the compiler is free to do both.
#if defined(__x86_64__)
static_assert(numbers_end == 448 && Guarded::copy == Guarded{1}, "the numbers below");
asm(R"(
  .macro call_beside_arguments function
  .irp argument, rdi, rsi, rdx, rcx, r8, r9
  pushq %\argument
  .cfi_adjust_cfa_offset 8
  .endr
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call \function
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  .irp argument, r9, r8, rcx, rdx, rsi, rdi
  popq %\argument
  .cfi_adjust_cfa_offset -8
  .endr
  .endm

  .pushsection .text
  .globl syscall
  .type syscall, @function
  .p2align 4
syscall:
  .cfi_startproc
  endbr64
1:
  movq talus_next_system_call(%rip), %r11
  testq %r11, %r11
  jz 3f
  cmpq $448, %rdi
  jae 2f
  leaq talus_guarded_calls(%rip), %r10
  cmpb $1, (%r10,%rdi)
  jae 4f
2:
  jmp *%r11
3:
  call_beside_arguments talus_find_system_call
  jmp 1b
4:
  je 5f
  pushq 8(%rsp)
  .cfi_adjust_cfa_offset 8
  call talus_call_guarded
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
5:
  call_beside_arguments talus_prepare_copy
  jmp *%rax
  .cfi_endproc
  .size syscall, . - syscall
  .popsection
  .purgem call_beside_arguments
)");
#else
// All arguments lie in registers.
extern "C" TALUS_EXPORT long talus_system_call(long number, long a, long b, long c, long d, long e,
                                               long f) noexcept asm("syscall");
long talus_system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  SystemCall* next = talus_next_system_call.load_init();
  if (TALUS_UNLIKELY(next == nullptr)) next = talus_find_system_call();
  const Guarded kind = static_cast<unsigned long>(number) < numbers_end
                           ? talus_guarded_calls.row[number]
                           : Guarded::no;
  const long flags = talus::core::arch::has_clone_flags_first ? a : b;
  if (kind == Guarded::copy) next = talus_prepare_copy(number, flags);
  if (kind > Guarded::copy) return talus_call_guarded(number, a, b, c, d, e, f);
  return next(number, a, b, c, d, e, f);
}
#endif
