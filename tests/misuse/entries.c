// SPDX-License-Identifier: MIT
// tests/misuse: the calls by which a case makes and frees its blocks.
//
// Owns: how they are found. C++ operators and Talus' instances are looked up by name, so that the
// program needs libc alone: libstdc++ is loaded where a case needs it and the preloaded library has
// none of its own. Called on: any thread; find_entry_point on the first, before all others.
#include "misuse.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { block_alignment = 256 };

static struct operators operators;
static int is_found;

static void* symbol(void* library, const char* name) { return dlsym(library, name); }

const struct operators* cxx_operators(void) {
  if (is_found) return &operators;
  void* library = RTLD_DEFAULT;  // a null pointer
  if (symbol(library, "_Znwm") == NULL) {
    library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) give_up("no libstdc++");
  }
  *(void**)&operators.new_one = symbol(library, "_Znwm");
  *(void**)&operators.new_array = symbol(library, "_Znam");
  *(void**)&operators.delete_one = symbol(library, "_ZdlPv");
  *(void**)&operators.delete_array = symbol(library, "_ZdaPv");
  *(void**)&operators.delete_sized = symbol(library, "_ZdlPvm");
  if (!operators.new_one || !operators.new_array || !operators.delete_one ||
      !operators.delete_array || !operators.delete_sized) {
    give_up("no C++ operators");
  }
  is_found = 1;
  return &operators;
}

static void* new_aligned(size_t bytes) {
  void* block = NULL;
  return posix_memalign(&block, block_alignment, bytes) == 0 ? block : NULL;
}

// Talus' instances (talus/talus.h).
static void* heap;
static void* (*heap_malloc)(void*, size_t);
static void* (*heap_realloc)(void*, void*, size_t);
static void (*heap_free)(void*, void*);

static void* new_of_heap(size_t bytes) { return heap_malloc(heap, bytes); }
static void* resize_of_heap(void* pointer, size_t bytes) {
  return heap_realloc(heap, pointer, bytes);
}
static void free_of_heap(void* pointer) { heap_free(heap, pointer); }

// struct talus_heap_options of talus.h.
struct heap_options {
  const char* name;
  size_t limit_bytes;
  unsigned flags;
  const void* provider;
  unsigned numa_node;
  int mode;
};

// MISUSE_HEAP=checked makes the heap a checked one.
static void make_heap(void) {
  void* (*heap_new)(const void*);
  struct heap_options options;
  const char* mode = getenv("MISUSE_HEAP");
  memset(&options, 0, sizeof options);
  options.mode = mode != NULL && strcmp(mode, "checked") == 0;
  *(void**)&heap_new = symbol(RTLD_DEFAULT, "talus_heap_new");
  *(void**)&heap_malloc = symbol(RTLD_DEFAULT, "talus_heap_malloc");
  *(void**)&heap_realloc = symbol(RTLD_DEFAULT, "talus_heap_realloc");
  *(void**)&heap_free = symbol(RTLD_DEFAULT, "talus_heap_free");
  if (!heap_new || !heap_malloc || !heap_realloc || !heap_free) give_up("no instances");
  heap = heap_new(&options);
  if (heap == NULL) give_up("no instance");
}

static void* (*allocate)(size_t) = malloc;
static void* (*resize)(void*, size_t) = realloc;
static void (*deallocate)(void*) = free;

void find_entry_point(void) {
  if (strcmp(given.entry, "new") == 0) {
    allocate = cxx_operators()->new_one;
    deallocate = cxx_operators()->delete_one;
  } else if (strcmp(given.entry, "aligned") == 0) {
    allocate = new_aligned;
  } else if (strcmp(given.entry, "heap") == 0) {
    make_heap();
    allocate = new_of_heap;
    resize = resize_of_heap;
    deallocate = free_of_heap;
  }
}

void* new_block(size_t bytes) { return hidden(allocate(bytes)); }
void free_block(void* pointer) { deallocate(hidden(pointer)); }
void* resize_block(void* pointer, size_t bytes) { return hidden(resize(hidden(pointer), bytes)); }
