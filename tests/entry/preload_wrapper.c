/* SPDX-License-Identifier: MIT
 * tests/entry/preload_wrapper: a library to preload that wraps calls of the C library and uses the
 * heap inside, with a lock held, as tracers and proxies (torsocks) do.
 *
 * Nothing guards these wrappers against being entered again. A thread that calls one from inside
 * malloc, dlsym or free meets the lock that it holds itself. With WRAPS_CLOCK the library wraps the
 * clock instead, as libraries do that fake the time. It has a constructor that reads a file, like
 * one with a configuration. How often it was entered is said at the end, as `wrapper: N calls`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned calls;

/* Looks a name up and takes blocks of sizes that come to need new slabs and ranges. */
static void* find_unlocked(const char* name) {
  const unsigned call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  const unsigned size = call * 1237 % 300000;
  char* volatile copy = strdup(name);
  void* volatile block = malloc(size);
  void* found = dlsym(RTLD_NEXT, copy);
  void* volatile missing = dlsym(RTLD_NEXT, "there_is_no_such_function");
  (void)missing;
  dlerror();
  free(block);
  free(copy);
  return found;
}

#ifdef WRAPS_CLOCK

/* An allocator has to read a clock; so this one lets itself in again, and holds no lock. */
int clock_gettime(clockid_t clock, struct timespec* now) {
  static __thread int depth;
  int (*real)(clockid_t, struct timespec*);
  if (depth > 0) return (int)syscall(SYS_clock_gettime, clock, now);
  depth++;
  *(void**)&real = find_unlocked("clock_gettime");
  depth--;
  return real(clock, now);
}

#else

static void* find(const char* name) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  void* found = find_unlocked(name);
  pthread_mutex_unlock(&lock);
  return found;
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  void* (*real)(void*, size_t, int, int, int, off_t);
  *(void**)&real = find("mmap");
  return real(at, bytes, protection, flags, file, offset);
}

int munmap(void* at, size_t bytes) {
  int (*real)(void*, size_t);
  *(void**)&real = find("munmap");
  return real(at, bytes);
}

int madvise(void* at, size_t bytes, int advice) {
  int (*real)(void*, size_t, int);
  *(void**)&real = find("madvise");
  return real(at, bytes, advice);
}

int open(const char* path, int flags, ...) {
  int (*real)(const char*, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  *(void**)&real = find("open");
  return real(path, flags, mode);
}

int connect(int file, const struct sockaddr* address, socklen_t bytes) {
  int (*real)(int, const struct sockaddr*, socklen_t);
  *(void**)&real = find("connect");
  return real(file, address, bytes);
}

int close(int file) {
  int (*real)(int);
  *(void**)&real = find("close");
  return real(file);
}

/* torsocks wraps this one too: a thread that enters the kernel by it is seen. */
long syscall(long number, ...) {
  long (*real)(long, ...);
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (int i = 0; i < 6; i++) arguments[i] = va_arg(list, long);
  va_end(list);
  *(void**)&real = find("syscall");
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

#endif

__attribute__((constructor)) static void read_configuration(void) {
  FILE* file = fopen("/etc/passwd", "r");
  if (file == NULL) return;
  char* line = NULL;
  size_t bytes = 0;
  while (getline(&line, &bytes, file) > 0) {}
  free(line);
  fclose(file);
}

__attribute__((destructor)) static void say(void) {
  char text[64];
  const int length = snprintf(text, sizeof text, "wrapper: %u calls\n", calls);
  if (write(1, text, (size_t)length) < 0) _exit(1);
}
