/* SPDX-License-Identifier: MIT
 * tests/entry/replaced_malloc: a program with an allocator of its own, of the names that the manual
 * of glibc lists.
 *
 * Talus's other names, which the program does not define, must do to its blocks what they say. A
 * block of the program's never reaches Talus's heap, and the other way round.
 */
#define _GNU_SOURCE
#include "expect.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(4096) char room[32 << 20];
static size_t used, freed;

static void* take(size_t alignment, size_t bytes) {
  const size_t at = (used + 16 + alignment - 1) & ~(alignment - 1);
  if (bytes > sizeof room || at + bytes > sizeof room) {
    errno = ENOMEM;
    return NULL;
  }
  ((size_t*)(room + at))[-1] = bytes;
  used = at + bytes;
  return room + at;
}
static int is_mine(const void* block) { return (uintptr_t)block - (uintptr_t)room < sizeof room; }

void* malloc(size_t bytes) { return take(16, bytes); }
void free(void* block) {
  if (block == NULL) return;
  EXPECT(is_mine(block));
  freed++;
}
void* calloc(size_t count, size_t bytes) { return take(16, count * bytes); } /* never reused */
void* realloc(void* block, size_t bytes) {
  void* fresh = take(16, bytes);
  if (block == NULL || fresh == NULL) return fresh;
  EXPECT(is_mine(block));
  const size_t before = ((size_t*)block)[-1];
  memcpy(fresh, block, before < bytes ? before : bytes);
  free(block);
  return fresh;
}
void* memalign(size_t alignment, size_t bytes) { return take(alignment, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes); }
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = take(alignment, bytes);
  return *result == NULL ? ENOMEM : 0;
}
void* valloc(size_t bytes) { return take(4096, bytes); }
void* pvalloc(size_t bytes) { return take(4096, (bytes + 4095) & ~(size_t)4095); }
size_t malloc_usable_size(void* block) { return block == NULL ? 0 : ((size_t*)block)[-1]; }

static void find(const char* name, void* function) {
  void* address = dlsym(RTLD_DEFAULT, name);
  EXPECT(address != NULL);
  memcpy(function, &address, sizeof address);
}

static char* text(void) {
  char* block = malloc(16);
  EXPECT(is_mine(block));
  strcpy(block, "fifteen letters");
  return block;
}
static void is_text_in_own_room(const char* block) {
  EXPECT(is_mine(block) && memcmp(block, "fifteen letters", 16) == 0);
}

int main(void) {
  void* (*array)(void*, size_t, size_t);
  void* (*or_free)(void*, size_t);
  void* (*cleared_array)(void*, size_t, size_t, size_t);
  void (*zero)(void*, size_t);
  void (*sized)(void*, size_t);
  void (*aligned_sized)(void*, size_t, size_t);
  void (*plain)(void*);
  find("reallocarray", &array);
  find("reallocf", &or_free);
  find("recallocarray", &cleared_array);
  find("freezero", &zero);
  find("free_sized", &sized);
  find("free_aligned_sized", &aligned_sized);
  find("cfree", &plain);
  const size_t too_many = SIZE_MAX / 2;

  char* block = array(text(), 100, 10);
  is_text_in_own_room(block);
  EXPECT(is_mine(array(NULL, 3, 5)));
  errno = 0;
  EXPECT(array(block, too_many, 3) == NULL && errno == ENOMEM);
  is_text_in_own_room(block);

  block = or_free(block, 5000);
  is_text_in_own_room(block);
  size_t before = freed;
  EXPECT(or_free(block, too_many) == NULL && freed == before + 1);

  char* old = text();
  block = cleared_array(old, 4, 40, 4);
  is_text_in_own_room(block);
  for (int i = 0; i < 16; i++) EXPECT(old[i] == 0);
  for (int i = 16; i < 160; i++) EXPECT(block[i] == 0);
  EXPECT(is_mine(cleared_array(NULL, 0, 3, 5)));
  errno = 0;
  EXPECT(cleared_array(block, 40, too_many, 4) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(cleared_array(block, too_many, 40, 4) == NULL && errno == EINVAL);
  is_text_in_own_room(block);

  before = freed;
  zero(NULL, 5);
  zero(block, 160);
  for (int i = 0; i < 160; i++) EXPECT(block[i] == 0);
  sized(text(), 16);
  aligned_sized(aligned_alloc(64, 100), 64, 100);
  plain(text());
  EXPECT(freed == before + 4);
  return 0;
}
