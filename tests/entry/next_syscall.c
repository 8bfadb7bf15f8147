/* SPDX-License-Identifier: MIT
 * tests/entry/next_syscall: a library behind Talus that stands before libc's syscall(), too.
 *
 * Counts the calls and passes on what it was given, as one that watches a program does. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>

long syscalls_seen;

long syscall(long number, ...) {
  long given[6];
  va_list rest;
  va_start(rest, number);
  for (size_t i = 0; i < 6; i++) given[i] = va_arg(rest, long);
  va_end(rest);
  syscalls_seen++;
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
