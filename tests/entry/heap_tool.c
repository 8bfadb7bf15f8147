/* SPDX-License-Identifier: MIT
 * tests/entry/heap_tool: a heap tool that is preloaded before Talus, as heaptrack is.
 *
 * It defines malloc, aligned_alloc and free, counts the calls with the sizes that the work uses,
 * and calls the next definition. With OWN_HEAP it is no tool but an allocator: it forwards nothing,
 * and its blocks never end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* How many blocks of heap_tool_bytes and of heap_tool_aligned_bytes were made and freed. */
enum { heap_tool_bytes = 1104, heap_tool_aligned_bytes = 1280, kept_max = 1 << 16 };
unsigned heap_tool_made, heap_tool_made_aligned, heap_tool_freed;

/* Which addresses hold such a block. */
static void* kept[kept_max];

static void** place_of(void* block) {
  size_t place = (uintptr_t)block / 16 % kept_max;
  while (kept[place] != NULL && kept[place] != block) place = (place + 1) % kept_max;
  return &kept[place];
}
/* Freed ones stay in the table, as 1. */
static void keep(void* block) {
  if (block != NULL) *place_of(block) = block;
}

#ifdef OWN_HEAP

static char memory[64 << 20];
static size_t used;

static void* take(size_t alignment, size_t bytes) {
  const size_t room = (bytes + 2 * alignment + 15) / 16 * 16;
  const size_t at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
  if (at + room > sizeof memory) abort();
  return (void*)(((uintptr_t)memory + at + alignment - 1) / alignment * alignment);
}
static void* next_malloc(size_t bytes) { return take(16, bytes); }
static void* next_aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes); }
static void next_free(void* block) { (void)block; }

#else

static void* next_malloc(size_t bytes) {
  static void* (*next)(size_t);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "malloc");
  return next(bytes);
}
static void* next_aligned_alloc(size_t alignment, size_t bytes) {
  static void* (*next)(size_t, size_t);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "aligned_alloc");
  return next(alignment, bytes);
}
static void next_free(void* block) {
  static void (*next)(void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "free");
  next(block);
}

#endif

void* malloc(size_t bytes) {
  void* block = next_malloc(bytes);
  if (bytes == heap_tool_bytes) {
    heap_tool_made++;
    keep(block);
  }
  return block;
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  void* block = next_aligned_alloc(alignment, bytes);
  if (bytes == heap_tool_aligned_bytes) {
    heap_tool_made_aligned++;
    keep(block);
  }
  return block;
}

void free(void* block) {
  void** place = place_of(block);
  if (block != NULL && *place == block) {
    heap_tool_freed++;
    *place = (void*)1;
  }
  next_free(block);
}
