/* heap_life: the cost of a heap's life: its creation, its blocks, and its end together with them.
 *
 * Owns: the loop, and the least of nine rounds. The same program measures Talus and mimalloc,
 * depending on the preloaded library; README.md has the commands.
 *
 * usage: LD_PRELOAD=LIBRARY heap_life HEAPS BLOCKS_IN_EACH
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { rounds = 9, block_bytes = 64 };

struct heap_calls {
  void* (*make)(void*); /* mimalloc's has no argument */
  void (*end)(void*);
  void* (*take)(void*, size_t);
};

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ISO C has no conversion from what dlsym returns to a function. */
static int find(const char* name, void* function) {
  void* address = dlsym(RTLD_DEFAULT, name);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}
static int find_calls(struct heap_calls* calls) {
  if (find("talus_heap_new", &calls->make)) {
    return find("talus_heap_destroy", &calls->end) && find("talus_heap_malloc", &calls->take);
  }
  return find("mi_heap_new", &calls->make) && find("mi_heap_destroy", &calls->end) &&
         find("mi_heap_malloc", &calls->take);
}

static int run(const struct heap_calls* calls, long heaps, long blocks) {
  for (long at = 0; at < heaps; at++) {
    void* heap = calls->make(NULL);
    if (heap == NULL) return 0;
    for (long block = 0; block < blocks; block++) {
      char* taken = calls->take(heap, block_bytes);
      if (taken == NULL) return 0;
      *(volatile char*)taken = 1;
    }
    calls->end(heap);
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long heaps = strtol(argv[1], NULL, 10);
  const long blocks = strtol(argv[2], NULL, 10);
  struct heap_calls calls;
  if (heaps < 1 || blocks < 0) return 2;
  if (!find_calls(&calls)) {
    fputs("no library with heaps of one's own is preloaded\n", stderr);
    return 2;
  }
  double least_s = 1e9;
  for (int round = 0; round < rounds; round++) {
    const double start_s = now_s();
    if (!run(&calls, heaps, blocks)) return 1;
    const double taken_s = now_s() - start_s;
    if (taken_s < least_s) least_s = taken_s;
  }
  printf("%.0f ns a heap with %ld blocks of %d bytes\n", least_s * 1e9 / (double)heaps, blocks,
         (int)block_bytes);
  return 0;
}
