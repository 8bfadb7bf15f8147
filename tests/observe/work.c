/* SPDX-License-Identifier: MIT
 * tests/observe/work: a process to be looked into. It does some work with its heap and obeys one
 * letter after the other from standard input. It answers each with one line.
 *
 *   s  its own statistics as JSON
 *   h  the usable bytes of the random calls' live blocks: its shadow of the heap
 *   f  forks; the child obeys from here on, and the parent waits
 *   b  threads allocate at random until the next letter
 *   l  one more GiB of small blocks
 *   w  blocks that come and go: free memory is left
 *   c  a burst: 64 MiB of small blocks come and go
 *   t  all free memory goes back
 *   v  the child of vfork waits for a letter, and its parent with it
 *   any other letter, or the end of the input: it ends
 *
 * OBSERVE_PLAIN: without calls of Talus' own, for the preloaded library.
 */
#ifndef _GNU_SOURCE /* the compiler of C++ defines it */
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(OBSERVE_PLAIN)
#define talus_malloc malloc
#define talus_free free
static int print_statistics(void) {
  int (*print)(int, int) = (int (*)(int, int))dlsym(RTLD_DEFAULT, "talus_stats_print");
  return print == NULL ? -1 : print(1, 1);
}
static void make_heaps(void) {}
static void purge_all(void) { malloc_trim(0); }
static size_t usable_size(void* block) { return malloc_usable_size(block); }
#else
#if !defined(TALUS_HEADER_ONLY)
#include <talus/talus.h>
#endif
static int print_statistics(void) { return talus_stats_print(1, TALUS_STATS_JSON); }
static void purge_all(void) { talus_trim(0); }
static size_t usable_size(void* block) { return talus_usable_size(block); }
static void make_heaps(void) {
  struct talus_heap_options options;
  memset(&options, 0, sizeof options);
  options.name = "a \"name\"\n";
  for (int number = 0; number < 3; number++) {
    talus_heap* heap = talus_heap_new(&options);
    for (size_t bytes = 16; bytes < 200000; bytes += bytes / 2) talus_heap_malloc(heap, bytes);
  }
}
#endif

enum { block_count = 6000, thread_count = 3, gib_block_bytes = 8000 };
static void* blocks[thread_count][block_count];
static int is_busy;

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void step(int row, uint32_t* seed) {
  void** place = &blocks[row][next_random(seed) % block_count];
  talus_free(*place);
  const uint32_t kind = next_random(seed) % 100;
  const size_t most = kind == 0 ? 3000000 : kind < 5 ? 100000 : 2000;
  const size_t bytes = 1 + next_random(seed) % most;
  *place = next_random(seed) % 4 == 0 ? NULL : talus_malloc(bytes);
  if (*place != NULL) memset(*place, 1, bytes < 4096 ? bytes : 4096);
}

static void* work_for_a_while(void* argument) {
  uint32_t seed = 1 + (uint32_t) * (int*)argument;
  for (int i = 0; i < 3 * block_count; i++) step(*(int*)argument, &seed);
  return NULL;
}
static void* work_until_told(void* argument) {
  uint32_t seed = 77 + (uint32_t) * (int*)argument;
  while (__atomic_load_n(&is_busy, __ATOMIC_ACQUIRE)) step(*(int*)argument, &seed);
  return NULL;
}

static int rows[thread_count] = {0, 1, 2};
static void with_threads(void* (*work)(void*), pthread_t* threads) {
  for (int i = 0; i < thread_count; i++) pthread_create(&threads[i], NULL, work, &rows[i]);
}
static void wait_for(pthread_t* threads) {
  for (int i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
}

static void say(const char* line) {
  if (write(1, line, strlen(line)) < 0) _exit(1);
}

static void say_what_is_held(void) {
  size_t bytes = 0;
  for (int row = 0; row < thread_count; row++) {
    for (int i = 0; i < block_count; i++) bytes += usable_size(blocks[row][i]);
  }
  char line[32];
  snprintf(line, sizeof line, "%zu\n", bytes);
  say(line);
}

static void take_a_gib(void) {
  for (size_t bytes = 0; bytes < (size_t)1 << 30; bytes += gib_block_bytes) {
    char* block = (char*)talus_malloc(gib_block_bytes);
    block[0] = block[4096] = 1;
  }
}

static void burst(void) {
  enum { burst_count = 32768, burst_block_bytes = 2048 };
  static char* taken[burst_count];
  for (size_t i = 0; i < burst_count; i++) {
    taken[i] = (char*)talus_malloc(burst_block_bytes);
    memset(taken[i], 1, burst_block_bytes);
  }
  for (size_t i = 0; i < burst_count; i++) talus_free(taken[i]);
}

static void leave_free_memory(void) {
  enum { count = 300000, bytes = 120, survivors = 5000 };
  char** taken = (char**)talus_malloc(count * sizeof(char*));
  for (int i = 0; i < count; i++) {
    taken[i] = (char*)talus_malloc(bytes);
    memset(taken[i], 1, bytes);
  }
  for (int i = 0; i < count; i++) {
    if (i % survivors != 0) talus_free(taken[i]);
  }
  talus_free(taken);
}

/* Returns 0 in a child, which goes on. */
static int wait_for_child(pid_t child) {
  if (child == 0) return 0;
  waitpid(child, NULL, 0);
  return 1;
}

static void work_at_start(pthread_t* threads) {
  make_heaps();
  with_threads(work_for_a_while, threads);
  wait_for(threads);
  /* One thread frees what the others allocated. */
  for (int i = 0; i < block_count; i += 3) {
    talus_free(blocks[1][i]);
    blocks[1][i] = NULL;
  }
}

int main(void) {
  pthread_t threads[thread_count];
  char line[64];
  work_at_start(threads);
  say("ready\n");
  for (char letter = 0; read(0, &letter, 1) == 1;) {
    if (__atomic_exchange_n(&is_busy, 0, __ATOMIC_ACQ_REL)) wait_for(threads);
    switch (letter) {
      case 's':
        if (print_statistics() != 0) return 1;
        break;
      case 'h':
        say_what_is_held();
        break;
      case 'b':
        __atomic_store_n(&is_busy, 1, __ATOMIC_RELEASE);
        with_threads(work_until_told, threads);
        say("busy\n");
        break;
      case 'l':
        take_a_gib();
        say("taken\n");
        break;
      case 'w':
        leave_free_memory();
        say("left\n");
        break;
      case 'c':
        burst();
        say("over\n");
        break;
      case 't':
        purge_all();
        say("purged\n");
        break;
      case 'f':
        if (wait_for_child(fork())) return 0;
        snprintf(line, sizeof line, "%d\n", (int)getpid());
        say(line);
        break;
      case 'v': {
        const pid_t child = vfork();
        if (child == 0) {
          say("here\n");
          if (read(0, &letter, 1) != 1) _exit(1);
          _exit(0);
        }
        waitpid(child, NULL, 0);
        say("there\n");
        break;
      }
      default:
        return 0;
    }
  }
  return 0;
}
