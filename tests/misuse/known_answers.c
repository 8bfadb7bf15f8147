// SPDX-License-Identifier: MIT
// tests/misuse/known_answers: a small allocator whose answer to a mistake is known beforehand.
//
// self_test.py preloads it and expects the verdict that KNOWN_ANSWER must get. For no real program.
// Owns: one range, whose blocks lie one after the other: a header of 64 bytes, then a power of two.
// One lock guards it. Called on: any thread.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { header_bytes = 64, class_count = 40, range_alignment = 2 << 20 };
enum answer {
  trusts,
  ignores,
  aborts,
  aborts_next,
  faults,
  hangs,
  says,
  zeroes,
  never_reuses,
  scatters
};
static const char* const names[] = {"trusts", "ignores", "aborts", "aborts_next",  "faults",
                                    "hangs",  "says",    "zeroes", "never_reuses", "scatters"};

struct header {
  size_t class_bytes;
  size_t asked_bytes;
  int is_free;
  struct header* next;
};

static const size_t range_bytes = (size_t)8 << 30;
static char* range;
static size_t used_bytes;
static struct header* free_blocks[class_count];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_mistaken;

static enum answer chosen(void) {
  const char* name = getenv("KNOWN_ANSWER");
  for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(name, names[i]) == 0) return (enum answer)i;
  }
  return trusts;
}

static int class_of(size_t bytes) {
  int class = 5;
  while (((size_t)1 << class) < bytes) class ++;
  return class;
}

static struct header* header_of(void* block) {
  return (struct header*)(void*)((char*)block - header_bytes);
}

// Its start is the same in the low bits of each process, but for "scatters".
static void make_range(void) {
  char* start = mmap(NULL, range_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) _exit(3);
  range = start + (range_alignment - (uintptr_t)start % range_alignment) % range_alignment;
  if (chosen() == scatters) used_bytes = (size_t)getpid() % 256 * 4096;
}

static void* allocate(size_t bytes, size_t alignment) {
  const int class = class_of(bytes);
  pthread_mutex_lock(&lock);
  if (is_mistaken && chosen() == aborts_next) abort();
  struct header* header = alignment <= header_bytes ? free_blocks[class] : NULL;
  if (header != NULL) {
    free_blocks[class] = header->next;
  } else {
    if (range == NULL) make_range();
    const size_t start = (used_bytes + header_bytes + alignment - 1) / alignment * alignment;
    used_bytes = start + ((size_t)1 << class);
    if (used_bytes > range_bytes - range_alignment) _exit(3);
    header = (struct header*)(void*)(range + start - header_bytes);
    header->class_bytes = (size_t)1 << class;
  }
  header->is_free = 0;
  header->asked_bytes = bytes;
  pthread_mutex_unlock(&lock);
  return (char*)header + header_bytes;
}

// Returns whether the block is freed nevertheless.
static int answer_mistake(void) {
  static const char line[] = "known answers: double free\n";
  is_mistaken = 1;
  switch (chosen()) {
    case aborts:
      abort();
    case faults:
      *(volatile char*)(uintptr_t)8 = 1;
      return 0;
    case hangs:
      for (;;) pause();
    case says:
      return write(STDERR_FILENO, line, sizeof line - 1) < 0;
    case trusts:
      return 1;
    default:
      return 0;
  }
}

void* malloc(size_t bytes) { return allocate(bytes, header_bytes); }

void free(void* block) {
  if (block == NULL) return;
  struct header* header = header_of(block);
  pthread_mutex_lock(&lock);
  if (!header->is_free || answer_mistake()) {
    if (chosen() == zeroes) memset(block, 0, header->class_bytes);
    header->is_free = 1;
    struct header** list = &free_blocks[class_of(header->class_bytes)];
    if (chosen() != never_reuses) {
      header->next = *list;
      *list = header;
    }
  }
  pthread_mutex_unlock(&lock);
}

void* calloc(size_t count, size_t bytes) {
  void* block = malloc(count * bytes);
  memset(block, 0, count * bytes);
  return block;
}

void* realloc(void* block, size_t bytes) {
  void* moved = malloc(bytes);
  if (block == NULL) return moved;
  const size_t old_bytes = header_of(block)->asked_bytes;
  memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
  free(block);
  return moved;
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  *block = allocate(bytes, alignment < header_bytes ? header_bytes : alignment);
  return 0;
}

void* memalign(size_t alignment, size_t bytes) {
  void* block;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
}

void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

size_t malloc_usable_size(void* block) { return block == NULL ? 0 : header_of(block)->class_bytes; }
