/* Wraps mmap, munmap, madvise and open, and allocates inside the wrappers (N43).
 *
 * Tracers and sandboxes preload such libraries. The real function is looked up with dlsym at the
 * first call, which may itself allocate; each outermost call then takes and frees a block. A guard
 * per thread keeps a wrapper from entering itself, as real ones have. An allocator that calls the
 * wrapped functions with its lock held meets itself here.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static __thread int depth;

/* How often a wrapper allocated: the probe reads it to know that the interposer is alive. */
unsigned long interposer_calls(void);
static unsigned long calls;

unsigned long interposer_calls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

static void allocate_inside(void) {
  if (depth != 0) return;
  ++depth;
  void* volatile block = malloc(123);
  free(block);
  void* volatile real = dlsym(RTLD_NEXT, "getppid");
  (void)real;
  --depth;
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  allocate_inside();
  return (void*)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

int munmap(void* address, size_t size) {
  allocate_inside();
  return (int)syscall(SYS_munmap, address, size);
}

int madvise(void* address, size_t size, int advice) {
  allocate_inside();
  return (int)syscall(SYS_madvise, address, size, advice);
}

int open(const char* path, int flags, ...) {
  typedef int (*Open)(const char*, int, ...);
  static Open real_open;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (depth != 0) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  allocate_inside();
  if (real_open == NULL) {
    ++depth;
    real_open = (Open)dlsym(RTLD_NEXT, "open");
    --depth;
  }
  return real_open(path, flags, mode);
}
