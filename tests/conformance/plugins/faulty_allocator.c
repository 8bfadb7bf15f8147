/* An allocator with one planted fault, to show that the probes can fail.
 *
 * glibc's malloc behind wrappers; CONFORMANCE_FAULT names what goes wrong, nothing if it is unset.
 * self_test.py preloads it and expects certain probes to notice. The fault is read once, before the
 * first call, from the environment block (getenv does not allocate). A build may have a fault of
 * its own (FAULT_DEFAULT) for probes that empty the environment. glibc only.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

enum Fault {
  unread,
  none,
  ignores_alignment,
  dirty_calloc,
  spoils_errno,
  null_for_nothing,
  lies_about_size,
  loses_contents,
  dies_after_exit,
  holds_lock_at_fork,
  never_frees,
  slow_fork,
  leaves_descriptor,
  reserves_much,
  splits_mappings,
  cancellation_point,
  needs_proc,
  counts_processors,
  stalls,
  hands_out_twice,
  wrong_answers,
  deep_stack,
  spins
};

static const char* const names[] = {"unread",
                                    "none",
                                    "ignores_alignment",
                                    "dirty_calloc",
                                    "spoils_errno",
                                    "null_for_nothing",
                                    "lies_about_size",
                                    "loses_contents",
                                    "dies_after_exit",
                                    "holds_lock_at_fork",
                                    "never_frees",
                                    "slow_fork",
                                    "leaves_descriptor",
                                    "reserves_much",
                                    "splits_mappings",
                                    "cancellation_point",
                                    "needs_proc",
                                    "counts_processors",
                                    "stalls",
                                    "hands_out_twice",
                                    "wrong_answers",
                                    "deep_stack",
                                    "spins"};

#ifndef FAULT_DEFAULT
#define FAULT_DEFAULT none
#endif

static enum Fault chosen;
static volatile int is_exiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned calls;

static void note_exit(void) { is_exiting = 1; }
static void sleep_at_fork(void) { usleep(50000); }

static size_t usable(void* block) {
  static size_t (*real)(void*);
  if (real == NULL) real = (size_t(*)(void*))dlsym(RTLD_NEXT, "malloc_usable_size");
  return real(block);
}

static enum Fault fault(void) {
  if (chosen != unread) return chosen;
  chosen = FAULT_DEFAULT;
  const char* name = getenv("CONFORMANCE_FAULT");
  for (unsigned i = 0; name != NULL && i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(name, names[i]) == 0) chosen = (enum Fault)i;
  }
  return chosen;
}

__attribute__((constructor)) static void plant(void) {
  switch (fault()) {
    case leaves_descriptor:
      (void)!open("/dev/null", O_RDONLY);
      break;
    case reserves_much:
      if (mmap(NULL, (size_t)1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
               0) == MAP_FAILED) {
        abort();
      }
      break;
    case needs_proc:
      if (access("/proc/self/maps", R_OK) != 0) abort();
      break;
    case slow_fork:
      pthread_atfork(sleep_at_fork, NULL, NULL);
      break;
    default:
      break;
  }
}

static void check_processor(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && sched_getcpu() >= CPU_COUNT(&set)) abort();
}

static void use_deep_stack(void) {
  volatile char space[14 * 1024];
  for (size_t i = 0; i < sizeof(space); i += 64) space[i] = 1;
}

/* Holds a lock for some time. A waiting thread polls it: on all processors but one a thread takes
 * it the moment it is free, so a fork meets it held. A lock with sleeping waiters would be free
 * until they wake. A lock held for a moment would be free, too: libc's own locks stop all others
 * for the fork. Where waiters do not yield, a thread preempted inside keeps the more urgent from
 * going on. */
static void hold_lock(int is_yielding, int turns) {
  static char is_taken;
  while (__atomic_test_and_set(&is_taken, __ATOMIC_ACQUIRE)) {
    if (is_yielding) sched_yield();
  }
  for (volatile int i = 0; i < turns; ++i) {}
  __atomic_clear(&is_taken, __ATOMIC_RELEASE);
}

/* Two threads that look at the same time get the same block; now and then one looks for long. */
static void* volatile spare;
static unsigned looks;

static void* take_spare(size_t size) {
  void* block = spare;
  if (block == NULL || usable(block) < size) return NULL;
  if (__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED) % 256 == 0) sched_yield();
  spare = NULL;
  return block;
}

static void sleep_through_signals(void) {
  struct timespec left = {0, 900000000};
  while (nanosleep(&left, &left) != 0) {}
}

static void before_malloc(void) {
  const unsigned call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  switch (fault()) {
    case holds_lock_at_fork:
      hold_lock(1, 50000);
      break;
    case stalls:
      pthread_mutex_lock(&lock);
      if (call % 100000 == 99999) sleep_through_signals();
      pthread_mutex_unlock(&lock);
      break;
    case cancellation_point:
      if (call % 100 == 0) close(open("/dev/null", O_RDONLY));
      break;
    case counts_processors:
      if (call % 1000 == 0) check_processor();
      break;
    case deep_stack:
      use_deep_stack();
      break;
    case spins:
      hold_lock(0, 1000);
      break;
    case dies_after_exit:
      /* Handlers run last in, first out: registered late, it comes before the program's own. */
      if (call == 20000) atexit(note_exit);
      if (is_exiting) abort();
      break;
    default:
      break;
  }
}

void* malloc(size_t size) {
  before_malloc();
  if (size == 0 && fault() == null_for_nothing) return NULL;
  if (fault() == hands_out_twice) {
    void* block = take_spare(size);
    if (block != NULL) return block;
  }
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  before_malloc();
  if (fault() == dirty_calloc && count != 0 && size < SIZE_MAX / count) {
    return __libc_malloc(count * size);
  }
  return __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) {
  before_malloc();
  if (fault() == loses_contents && block != NULL && size > 100) {
    void* moved = __libc_malloc(size);
    if (moved == NULL) return NULL;
    const size_t old = usable(block);
    memset(moved, 0, size);
    memcpy(moved, block, (old < size ? old : size) / 2);
    __libc_free(block);
    return moved;
  }
  return __libc_realloc(block, size);
}

static void* aligned(size_t alignment, size_t size) {
  before_malloc();
  if (fault() == ignores_alignment && alignment > 1024) alignment = 1024;
  return __libc_memalign(alignment, size);
}

void* memalign(size_t alignment, size_t size) { return aligned(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return aligned(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  const int is_wrong = fault() == wrong_answers;
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    if (is_wrong) *block = NULL;
    return EINVAL;
  }
  void* taken = aligned(alignment, size);
  if (taken == NULL) return ENOMEM;
  *block = taken;
  return 0;
}

int mallopt(int parameter, int value) {
  (void)parameter;
  (void)value;
  return fault() == wrong_answers ? -1 : 1;
}

size_t malloc_usable_size(void* block) {
  if (block == NULL) return 0;
  return usable(block) + (fault() == lies_about_size ? 16 : 0);
}

static void split_mapping(char* block) {
  char* page = (char*)(((uintptr_t)block + 4096 + 4095) & ~(uintptr_t)4095);
  if (usable(block) > 3 * 4096) mprotect(page, 4096, PROT_NONE);
}

void free(void* block) {
  if (block == NULL) return;
  switch (fault()) {
    case never_frees:
      return;
    case splits_mappings:
      /* Kept from reuse, or the next owner would meet the protected page. */
      if (usable(block) > 3 * 4096) {
        split_mapping(block);
        return;
      }
      break;
    case hands_out_twice:
      if (usable(block) < 1500 && spare == NULL) {
        spare = block;
        return;
      }
      break;
    case dies_after_exit:
      if (is_exiting) abort();
      break;
    case spoils_errno:
      errno = ENOMEM;
      break;
    default:
      break;
  }
  __libc_free(block);
}
