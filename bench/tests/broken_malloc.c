// An allocator that is broken on purpose, to prove that the benchmark set notices.
//
// Owns: the faults that test_programs.py provokes. It is preloaded, and the environment variable
// BROKEN_MALLOC selects the fault:
//   overlap        sometimes a block of up to 6000 bytes gets a second owner
//   overlap_large  the same for larger blocks
//   overlap_any    overlap for callers in libraries too
//   crash          the n-th call jumps into a trap
//   hang           the n-th call never returns
//   null           the n-th call refuses
//   slow           every malloc takes a microsecond longer
// Without the variable it passes all calls on, which shows that the set accepts a good library of
// the same form.
// A fault affects only calls from the program's own code, so it hits the workload and not the C
// library. The exception is overlap_any, because real programs allocate in their libraries.
// Overlaps stay on one side of a size, because a workload's tables are on the other side. A table
// with two owners would crash, which proves nothing about data checks.
//
// SPDX-License-Identifier: MIT

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { small_bytes_max = 6000, calls_before_fault = 400, calls_per_overlap = 3 };
enum { page_bytes = 4096, emptied_bytes_min = 16 * page_bytes };
enum { zeroed_bytes_max = 16 << 20 };
enum { slow_turns = 3000 };  // about a microsecond
enum fault {
  fault_unset,
  fault_none,
  fault_overlap,
  fault_overlap_large,
  fault_crash,
  fault_hang,
  fault_null,
  fault_slow,
  fault_overlap_any
};

static void* (*next_malloc)(size_t);
static void* (*next_calloc)(size_t, size_t);
static void* (*next_realloc)(void*, size_t);
static int (*next_posix_memalign)(void**, size_t, size_t);
static void (*next_free)(void*);
static enum fault fault;
static uintptr_t program_start;
static uintptr_t program_end;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t calls;
static void* last_block;
static size_t last_bytes;

static enum fault fault_of_environment(void) {
  const char* name = getenv("BROKEN_MALLOC");
  if (name == NULL) return fault_none;
  if (strcmp(name, "overlap") == 0) return fault_overlap;
  if (strcmp(name, "overlap_large") == 0) return fault_overlap_large;
  if (strcmp(name, "crash") == 0) return fault_crash;
  if (strcmp(name, "hang") == 0) return fault_hang;
  if (strcmp(name, "slow") == 0) return fault_slow;
  if (strcmp(name, "overlap_any") == 0) return fault_overlap_any;
  return strcmp(name, "null") == 0 ? fault_null : fault_none;
}

// The first object that the loader lists is the program.
static int note_program(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size;
  (void)context;
  for (int at = 0; at < object->dlpi_phnum; at++) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[at];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    program_start = object->dlpi_addr + segment->p_vaddr;
    program_end = program_start + segment->p_memsz;
  }
  return 1;
}

static void find_next(void) {
  *(void**)&next_malloc = dlsym(RTLD_NEXT, "malloc");
  *(void**)&next_calloc = dlsym(RTLD_NEXT, "calloc");
  *(void**)&next_realloc = dlsym(RTLD_NEXT, "realloc");
  *(void**)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
  *(void**)&next_free = dlsym(RTLD_NEXT, "free");
  dl_iterate_phdr(note_program, NULL);
  fault = fault_of_environment();
}

static int is_overlapping(void) {
  return fault == fault_overlap || fault == fault_overlap_large || fault == fault_overlap_any;
}

// True if faulty_malloc serves this call.
static int is_faulty(const void* caller, size_t bytes) {
  if (fault == fault_unset) find_next();
  if (fault == fault_none) return 0;
  if (fault == fault_overlap_any) return bytes <= small_bytes_max;
  if ((uintptr_t)caller < program_start || (uintptr_t)caller >= program_end) return 0;
  if (fault == fault_overlap) return bytes <= small_bytes_max;
  return fault != fault_overlap_large || bytes > small_bytes_max;
}

static void* malloc_with_overlap(size_t alignment, size_t bytes) {
  pthread_mutex_lock(&mutex);
  void* block = NULL;
  if (last_block != NULL && bytes <= last_bytes && (uintptr_t)last_block % alignment == 0 &&
      ++calls % calls_per_overlap == 0) {
    block = last_block;
  } else if (alignment <= _Alignof(max_align_t)) {
    block = next_malloc(bytes);
  } else if (next_posix_memalign(&block, alignment, bytes) != 0) {
    block = NULL;
  }
  if (block != last_block) {
    last_block = block;
    last_bytes = bytes;
  }
  pthread_mutex_unlock(&mutex);
  return block;
}

static void* faulty_malloc(size_t alignment, size_t bytes) {
  if (is_overlapping()) return malloc_with_overlap(alignment, bytes);
  if (fault == fault_slow) {
    for (int turn = 0; turn < slow_turns; turn++) __asm__ volatile("" ::: "memory");
    return next_malloc(bytes);
  }
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) < calls_before_fault) {
    return next_malloc(bytes);
  }
  if (fault == fault_crash) __builtin_trap();
  while (fault == fault_hang) pause();
  errno = ENOMEM;
  return NULL;
}

void* malloc(size_t bytes) {
  if (!is_faulty(__builtin_return_address(0), bytes)) return next_malloc(bytes);
  return faulty_malloc(1, bytes);
}

void* calloc(size_t count, size_t bytes) {
  if (!is_faulty(__builtin_return_address(0), count * bytes)) return next_calloc(count, bytes);
  void* block = faulty_malloc(1, count * bytes);
  // A gigabyte is fresh from the kernel, and a write of all of it would exhaust the machine.
  const int is_written = block != NULL && count * bytes <= zeroed_bytes_max;
  return is_written ? memset(block, 0, count * bytes) : block;
}

void* realloc(void* old, size_t bytes) {
  if (!is_faulty(__builtin_return_address(0), bytes)) {
    if (!is_overlapping() || old == NULL) return next_realloc(old, bytes);
    // Never frees the old block, which may have a second owner.
    void* moved = next_malloc(bytes);
    const size_t old_bytes = malloc_usable_size(old);
    return moved == NULL ? NULL : memcpy(moved, old, old_bytes < bytes ? old_bytes : bytes);
  }
  void* block = faulty_malloc(1, bytes);
  if (block == NULL || old == NULL || block == old) return block;
  const size_t old_bytes = malloc_usable_size(old);
  return memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  if (!is_faulty(__builtin_return_address(0), bytes)) {
    return next_posix_memalign(block, alignment, bytes);
  }
  *block = faulty_malloc(alignment, bytes);
  return *block == NULL ? ENOMEM : 0;
}

// A block with two owners must not be freed twice: the workload must find the overlap, not the C
// library's own checks. So overlapping runs free nothing. Large blocks purge their pages, because a
// run with many of them would exhaust the machine.
void free(void* block) {
  if (fault == fault_unset) find_next();
  if (!is_overlapping()) {
    next_free(block);
  } else if (fault == fault_overlap_large && block != NULL) {
    const uintptr_t first = ((uintptr_t)block + page_bytes - 1) / page_bytes * page_bytes;
    const uintptr_t end = ((uintptr_t)block + malloc_usable_size(block)) / page_bytes * page_bytes;
    if (end > first && end - first >= emptied_bytes_min) {
      madvise((void*)first, end - first, MADV_DONTNEED);
    }
  }
}
