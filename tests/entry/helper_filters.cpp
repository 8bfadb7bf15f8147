// SPDX-License-Identifier: MIT
// tests/entry/helper_filters: the helper behind a filter that kills for what it does not list.
//
// The list is right for a process that may have threads: memory, futex, clone, the signal mask. The
// core is part of this program, so it does not learn of the filter; libtalus.so hears of it by
// prctl (tests/entry/helper_rights). The filter comes before the helper or while it lives, for all
// threads, and the helper must do its work and end behind it.   Usage: helper_filters CASE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <talus/talus.hpp>

#include "helper_watch.hpp"

namespace {

using namespace watch;

const unsigned allowed[] = {
    SYS_mmap,  SYS_munmap, SYS_mremap, SYS_madvise,        SYS_mprotect,
    SYS_futex, SYS_clone,  SYS_exit,   SYS_exit_group,     SYS_rt_sigreturn,
    SYS_read,  SYS_write,  SYS_close,  SYS_rt_sigprocmask,
};
constexpr size_t allowed_count = sizeof allowed / sizeof allowed[0];

void set_filter() {
  sock_filter rules[2 * allowed_count + 2];
  size_t count = 0;
  rules[count++] = {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)};
  for (const unsigned number : allowed) {
    rules[count++] = {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number};
    rules[count++] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  }
  rules[count++] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS};
  const sock_fprog program{static_cast<unsigned short>(count), rules};
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    _exit(77);
  }
}

// By the one sleeping call that is allowed.
void rest_ms(long milliseconds) {
  unsigned word = 0;
  const timespec span{milliseconds / 1000, milliseconds % 1000 * 1000000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, nullptr, 0);
}

void free_all() { free_much(talus_malloc, talus_free); }

// Memory has gone back, which only a helper can have done: the last block's pages are not there.
// mincore and /proc are behind the filter; a page that reads as zero was filled with ones before.
bool is_given_back() {
  const char* place = static_cast<char*>(large_blocks[32]) + (size_t{1} << 19);
  return *const_cast<volatile const char*>(place) == 0;
}

void waits_for_work() {
  for (int wait = 0; wait < 500 && !is_given_back(); wait++) rest_ms(20);
  EXPECT(is_given_back());
}

void filter_first() {
  talus_free(talus_malloc(100));  // the start may ask the kernel for more
  set_filter();
  free_all();
  waits_for_work();
  rest_ms(1000);  // it ends, behind the filter
  free_all();
  waits_for_work();
}

void helper_first() {
  free_all();
  EXPECT(comes_true([] { return thread_count() == 2; }));
  set_filter();
  free_all();
  waits_for_work();
  rest_ms(1000);
  free_all();
  waits_for_work();
}

}  // namespace

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  if (strcmp(argv[1], "filter_first") == 0) filter_first();
  if (strcmp(argv[1], "helper_first") == 0) helper_first();
  return 0;
}
