/* SPDX-License-Identifier: MIT
 * tests/entry/opens_library: the shared library opened in the middle of a running program.
 *
 * malloc stays the C library's; the talus_* functions are called by dlsym, also by threads that are
 * older than the library and threads that outlive dlclose. The library stays loaded (it is marked
 * so), hence every address in it stays good. What it has by the C library's names acts on its own
 * heap, when the handle is asked for it.   Usage: opens_library LIBRARY
 */
#include "expect.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <talus/talus.h>

enum { thread_count = 4, block_count = 2000 };

typedef void* Malloc(size_t);
typedef void Free(void*);
typedef size_t UsableSize(const void*);
typedef const char* Version(void);

static Malloc* opened_malloc;
static Free* opened_free;
static UsableSize* opened_usable_size;
static pthread_barrier_t opened, closed;
static void* shared_blocks[thread_count][block_count];

static void* work(void* argument) {
  const uintptr_t self = (uintptr_t)argument;
  pthread_barrier_wait(&opened);
  for (size_t i = 0; i < block_count; i++) {
    void* block = opened_malloc(i);
    EXPECT(block != NULL && opened_usable_size(block) >= i);
    memset(block, (int)self, i);
    shared_blocks[self][i] = block;
  }
  pthread_barrier_wait(&closed); /* every thread has its blocks */
  pthread_barrier_wait(&closed); /* the library was closed */
  void** others = shared_blocks[(self + 1) % thread_count];
  for (size_t i = 0; i < block_count; i++) opened_free(others[i]);
  opened_free(opened_malloc(100));
  return NULL;
}

/* ISO C has no cast from a data pointer to a function's. */
static void find(void* library, const char* name, void* function) {
  void* address = dlsym(library, name);
  EXPECT(address != NULL);
  memcpy(function, &address, sizeof address);
}

static void libc_names(void* library) {
  void* (*array)(void*, size_t, size_t);
  void* (*or_free)(void*, size_t);
  void* (*cleared_array)(void*, size_t, size_t, size_t);
  void (*sized)(void*, size_t);
  void (*zero)(void*, size_t);
  find(library, "reallocarray", &array);
  find(library, "reallocf", &or_free);
  find(library, "recallocarray", &cleared_array);
  find(library, "free_sized", &sized);
  find(library, "freezero", &zero);
  void* block = array(opened_malloc(100), 30, 10);
  EXPECT(block != NULL && opened_usable_size(block) >= 300);
  block = or_free(block, 5000);
  EXPECT(block != NULL && opened_usable_size(block) >= 5000);
  block = cleared_array(block, 5000, 7000, 1);
  EXPECT(block != NULL && opened_usable_size(block) >= 7000);
  sized(block, 7000);
  zero(opened_malloc(100), 100);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  pthread_t threads[thread_count];
  EXPECT(pthread_barrier_init(&opened, NULL, thread_count + 1) == 0);
  EXPECT(pthread_barrier_init(&closed, NULL, thread_count + 1) == 0);
  void* before = malloc(100);
  for (uintptr_t t = 0; t < thread_count; t++) {
    EXPECT(pthread_create(&threads[t], NULL, work, (void*)t) == 0);
  }
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != NULL);
  Version* version;
  find(library, "talus_malloc", &opened_malloc);
  find(library, "talus_free", &opened_free);
  find(library, "talus_usable_size", &opened_usable_size);
  find(library, "talus_version", &version);
  EXPECT(strcmp(version(), TALUS_VERSION) == 0);
  libc_names(library);
  free(before); /* the C library's, as before */
  free(malloc(100));
  pthread_barrier_wait(&opened);
  pthread_barrier_wait(&closed);
  EXPECT(dlclose(library) == 0);
  pthread_barrier_wait(&closed);
  for (int t = 0; t < thread_count; t++) EXPECT(pthread_join(threads[t], NULL) == 0);
  return 0;
}
