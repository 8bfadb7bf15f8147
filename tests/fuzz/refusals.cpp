// SPDX-License-Identifier: MIT
// fuzz/refusals.cpp: a filter that traps the library's calls, and what the trap answers.
#include "refusals.hpp"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include <atomic>

#include "thread.hpp"

#if defined(__x86_64__)
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#endif

namespace fuzz {
namespace {

std::atomic<int> rate;
std::atomic<uint64_t> drawn;
std::atomic<uint64_t> refused;

}  // namespace

int set_refusals(int of_1024) { return rate.exchange(of_1024); }
void stop_refusals() { rate.store(0); }
uint64_t count_refusals() { return refused.load(); }

#if !defined(__x86_64__)

bool start_refusals() { return false; }

#else

namespace {

constexpr long process_madvise_number = 440;  // older headers lack it

// Where the library's instructions are.
struct Code {
  uintptr_t start = 0;
  uintptr_t end = 0;
};

int find_code(dl_phdr_info* object, size_t, void* context) {
  if (object->dlpi_name == nullptr || strstr(object->dlpi_name, "libtalus") == nullptr) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uintptr_t start = object->dlpi_addr + header.p_vaddr;
    *static_cast<Code*>(context) = {start, start + header.p_memsz};
  }
  return 1;
}

// Refused calls, a bit each of settings.refused_calls, and the errors that they may have.
struct Row {
  long call;
  int errors[2];
};
constexpr Row rows[] = {
    {SYS_mmap, {ENOMEM, ENOMEM}},               // 1
    {SYS_munmap, {ENOMEM, ENOMEM}},             // 2
    {SYS_mprotect, {ENOMEM, ENOMEM}},           // 4
    {SYS_mremap, {ENOMEM, EAGAIN}},             // 8
    {SYS_madvise, {ENOMEM, EAGAIN}},            // 16
    {process_madvise_number, {EPERM, EINVAL}},  // 32
    {SYS_fallocate, {ENOSPC, ENOSPC}},          // 64
    {SYS_ftruncate, {EFBIG, EFBIG}},            // 128
    {SYS_openat, {EMFILE, EACCES}},             // 256
    {SYS_mbind, {EPERM, EPERM}},                // 512
    {SYS_mincore, {EAGAIN, EAGAIN}},            // 1024
};
constexpr size_t row_count = sizeof rows / sizeof rows[0];

long call_kernel(const greg_t* registers, long call) {
  long result;
  register long fourth asm("r10") = registers[REG_R10];
  register long fifth asm("r8") = registers[REG_R8];
  register long sixth asm("r9") = registers[REG_R9];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(call), "D"(registers[REG_RDI]), "S"(registers[REG_RSI]),
                 "d"(registers[REG_RDX]), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

// 0: the call is made.
int draw_error(long call) {
  const int of_1024 = rate.load(std::memory_order_relaxed);
  if (of_1024 == 0) return 0;
  const uint64_t number = mix_bits(drawn.fetch_add(1) ^ settings.seed * 77777);
  if (static_cast<int>(number % 1024) >= of_1024) return 0;
  for (size_t i = 0; i < row_count; i++) {
    const bool is_chosen = (settings.refused_calls >> i & 1) != 0;
    if (rows[i].call == call && is_chosen) return rows[i].errors[number / 1024 % 2];
  }
  return 0;
}

void on_trap(int, siginfo_t* info, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const int error = draw_error(info->si_syscall);
  if (error != 0) refused.fetch_add(1);
  registers[REG_RAX] = error != 0 ? -error : call_kernel(registers, info->si_syscall);
}

constexpr sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
constexpr sock_filter answer(uint32_t what) { return BPF_STMT(BPF_RET | BPF_K, what); }
constexpr sock_filter skip_unless(uint16_t comparison, uint32_t value, uint8_t count) {
  return BPF_JUMP(static_cast<uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, count);
}

bool install(const Code& code) {
  constexpr size_t pointer_offset = offsetof(seccomp_data, instruction_pointer);
  sock_filter rules[16 + 2 * row_count];
  uint16_t count = 0;
  rules[count++] = load(pointer_offset + 4);
  rules[count++] = skip_unless(BPF_JEQ, static_cast<uint32_t>(code.start >> 32), 3);
  rules[count++] = load(pointer_offset);
  rules[count++] = skip_unless(BPF_JGE, static_cast<uint32_t>(code.start), 1);
  rules[count++] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<uint32_t>(code.end), 0, 1);
  rules[count++] = answer(SECCOMP_RET_ALLOW);
  rules[count++] = load(offsetof(seccomp_data, nr));
  for (const Row& row : rows) {
    rules[count++] = skip_unless(BPF_JEQ, static_cast<uint32_t>(row.call), 1);
    rules[count++] = answer(SECCOMP_RET_TRAP);
  }
  rules[count++] = answer(SECCOMP_RET_ALLOW);
  sock_fprog program = {count, rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

bool start_refusals() {
  Code code;
  dl_iterate_phdr(find_code, &code);
  // The filter compares the lower halves of addresses.
  if (code.start == 0 || code.start >> 32 != code.end >> 32) return false;
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, SIGSYS);
  sigaction(SIGSYS, &action, nullptr);
  return install(code);
}

#endif

}  // namespace fuzz
