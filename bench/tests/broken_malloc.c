// An allocator that is broken on purpose, to prove that the benchmark set notices.
//
// Owns: the faults that test_programs.py provokes. Preloaded; the environment variable
// BROKEN_MALLOC selects the fault: overlap (now and then a block is handed out a second time),
// crash (the n-th call jumps into a trap), hang (the n-th call never returns), null (the n-th
// call refuses). Without the variable it passes all calls on, which shows that a good library of
// the same shape is accepted.
// Only small blocks are touched by a fault, so that it hits the workload and not the C library.
//
// SPDX-License-Identifier: MIT

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { fault_bytes_max = 6000, calls_before_fault = 400, calls_per_overlap = 3 };
enum fault { fault_unset, fault_none, fault_overlap, fault_crash, fault_hang, fault_null };

static void* (*next_malloc)(size_t);
static void (*next_free)(void*);
static enum fault fault;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t calls;
static void* last_block;
static size_t last_bytes;

static enum fault fault_of_environment(void) {
  const char* name = getenv("BROKEN_MALLOC");
  if (name == NULL) return fault_none;
  if (strcmp(name, "overlap") == 0) return fault_overlap;
  if (strcmp(name, "crash") == 0) return fault_crash;
  if (strcmp(name, "hang") == 0) return fault_hang;
  return strcmp(name, "null") == 0 ? fault_null : fault_none;
}

static void find_next(void) {
  *(void**)&next_malloc = dlsym(RTLD_NEXT, "malloc");
  *(void**)&next_free = dlsym(RTLD_NEXT, "free");
  fault = fault_of_environment();
}

static void* malloc_with_overlap(size_t bytes) {
  pthread_mutex_lock(&mutex);
  void* block = NULL;
  if (last_block != NULL && bytes <= last_bytes && ++calls % calls_per_overlap == 0) {
    block = last_block;
  } else {
    block = next_malloc(bytes);
    last_block = block;
    last_bytes = bytes;
  }
  pthread_mutex_unlock(&mutex);
  return block;
}

void* malloc(size_t bytes) {
  if (fault == fault_unset) find_next();
  if (fault == fault_none || bytes > fault_bytes_max) return next_malloc(bytes);
  if (fault == fault_overlap) return malloc_with_overlap(bytes);
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) < calls_before_fault) {
    return next_malloc(bytes);
  }
  if (fault == fault_crash) __builtin_trap();
  while (fault == fault_hang)
    pause();
  errno = ENOMEM;
  return NULL;
}

// A block that has two owners must not be freed twice: the overlap is to be found by the
// workload, not by the C library's own checks. So overlapping runs free nothing.
void free(void* block) {
  if (fault == fault_unset) find_next();
  if (fault != fault_overlap) next_free(block);
}
