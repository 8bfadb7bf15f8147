/* SPDX-License-Identifier: MIT
 *
 * Owns: made-up allocators for the tests of `talus compare`: the C library's functions under the
 * public names, with one fault that the comparison has to find. Which one, the build says:
 * nothing (no fault), LIBRARY_IS_SLOW, _IS_LARGE, _CRASHES, _HANGS or _CHANGES_OUTPUT.
 * Must not know: the program, but for the variable that it prints.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void __libc_free(void* block);

static void misbehave(void) {
#ifdef LIBRARY_IS_SLOW
  for (volatile int i = 0; i < 3000; ++i) {}
#endif
}

void* malloc(size_t bytes) {
  misbehave();
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) { return __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) { return __libc_realloc(block, bytes); }
void free(void* block) { __libc_free(block); }

/* Helpers of the program, such as sh, are left in peace. */
__attribute__((constructor)) static void begin(void) {
  if (getenv("COMPARE_TEST") == NULL) return;
#ifdef LIBRARY_IS_LARGE
  const size_t bytes = (size_t)48 << 20;
  void* block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block != MAP_FAILED) memset(block, 1, bytes);
#endif
#ifdef LIBRARY_CRASHES
  static const char words[] = "the heap is broken\n";
  if (write(2, words, sizeof words - 1) > 0) abort();
#endif
#ifdef LIBRARY_HANGS
  for (;;) pause();
#endif
#ifdef LIBRARY_CHANGES_OUTPUT
  setenv("COMPARE_TEST", "changed", 1);
#endif
}
