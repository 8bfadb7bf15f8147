/* A process that tests whether the library preloaded into it is its allocator.
 *
 * Called as `probe LIBRARY NAME...` with LIBRARY as a real path. It exits 0 if LIBRARY is mapped,
 * each NAME resolves into it, and blocks of many sizes keep their data, even if another thread
 * frees them. Otherwise it prints the fault and exits 1.
 * It knows no allocator; probing.py decides which names are required.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_count = 4000, usual_size_max = 20000, large_every = 256, thread_count = 4 };

static void fail(const char* what, const char* detail) {
  fprintf(stderr, "probe: %s: %s\n", what, detail);
  exit(1);
}

static void check_name(const char* name, const char* library) {
  void* address = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  char real[PATH_MAX];
  if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL) {
    fail("not found in the process", name);
  }
  if (realpath(info.dli_fname, real) == NULL || strcmp(real, library) != 0) {
    fprintf(stderr, "probe: %s comes from %s\n", name, info.dli_fname);
    exit(1);
  }
}

static void check_mapped(const char* library) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[PATH_MAX + 200];
  if (maps == NULL) fail("/proc/self/maps", strerror(errno));
  while (fgets(line, sizeof line, maps) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    const char* path = strchr(line, '/');
    if (path != NULL && strcmp(path, library) == 0) {
      fclose(maps);
      return;
    }
  }
  fail("not in /proc/self/maps", library);
}

/* Spread over the classes of small blocks, and now and then far beyond them. */
static size_t size_of(size_t index) {
  const size_t usual = 1 + index * index % usual_size_max;
  return index % large_every == 1 ? 40 * usual : usual;
}

/* Fills a block so that an overlap with any other shows. */
static void mark(unsigned char* block, size_t size, size_t seed) {
  memset(block, (int)(seed * 37 & 255), size);
}

static void check_mark(const unsigned char* block, size_t size, size_t seed) {
  const unsigned char value = (unsigned char)(seed * 37 & 255);
  if (block[0] != value || block[size / 2] != value || block[size - 1] != value) {
    fail("data lost", "a block was overwritten");
  }
}

static void* allocate_blocks(void* argument) {
  unsigned char** blocks = argument;
  for (size_t i = 0; i < block_count; i++) {
    const size_t size = size_of(i);
    void* block = NULL;
    if (i % 4 == 0) {
      if (posix_memalign(&block, 64, size) != 0 || (uintptr_t)block % 64 != 0) {
        fail("posix_memalign", "refused or misaligned");
      }
    } else if (i % 4 == 1) {
      unsigned char* zeroed = calloc(1, size);
      if (zeroed == NULL || zeroed[0] != 0 || zeroed[size - 1] != 0) {
        fail("calloc", "refused or not zero");
      }
      block = zeroed;
    } else {
      block = malloc(size);
    }
    if (block == NULL) fail("malloc", "refused");
    mark(block, size, i);
    blocks[i] = block;
  }
  return NULL;
}

/* Runs in another thread than the allocations. */
static void* check_and_free_blocks(void* argument) {
  unsigned char** blocks = argument;
  for (size_t i = 0; i < block_count; i++) {
    const size_t size = size_of(i);
    check_mark(blocks[i], size, i);
    if (i % 3 == 0) {
      unsigned char* grown = realloc(blocks[i], 2 * size);
      if (grown == NULL) fail("realloc", "refused");
      check_mark(grown, size, i);
      blocks[i] = grown;
    }
    free(blocks[i]);
  }
  return NULL;
}

static void run_threads(void* (*work)(void*), unsigned char** blocks) {
  pthread_t threads[thread_count];
  for (size_t i = 0; i < thread_count; i++) {
    if (pthread_create(&threads[i], NULL, work, blocks + i * block_count) != 0) {
      fail("pthread_create", "refused");
    }
  }
  for (size_t i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  if (argc < 3) fail("usage", "probe LIBRARY NAME...");
  for (int i = 2; i < argc; i++) check_name(argv[i], argv[1]);
  check_mapped(argv[1]);
  unsigned char** blocks = calloc(thread_count * block_count, sizeof *blocks);
  if (blocks == NULL) fail("calloc", "refused");
  for (int round = 0; round < 2; round++) {
    run_threads(allocate_blocks, blocks);
    run_threads(check_and_free_blocks, blocks);
  }
  free(blocks);
  return 0;
}
