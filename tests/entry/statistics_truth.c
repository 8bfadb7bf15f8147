/* SPDX-License-Identifier: MIT
 * tests/entry/statistics_truth: what statistics say, beside what the kernel and the program know.
 *
 * Live bytes against a shadow of all blocks, within 1 %. Resident memory against smaps_rollup,
 * within 3 %. Each time the heap or the program's own mapping grows or shrinks, Talus must see that
 * change, on the right side, as large as the kernel sees it. Threads free each other's blocks and
 * end; a child goes on after a fork. Silent, exit status 0 when all is well; 77 where the kernel
 * does not tell which pages are resident.
 */
#define _GNU_SOURCE
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <talus/talus.h>
#include <unistd.h>

enum { thread_count = 4, block_count = 12000 };
enum { slack_bytes = 4096 }; /* of what libc keeps for itself after its threads */
static void* blocks[thread_count][block_count];
static uint64_t shadow[thread_count]; /* usable bytes of a row of blocks */

static uint64_t value_of(const char* name) {
  uint64_t value = 0;
  const int error = talus_get(name, &value);
  if (error == 0) return value;
  fprintf(stderr, "%s: %s\n", name, strerror(error));
  exit(1);
}

static uint64_t rss(void) {
  char text[4096];
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  unsigned long long kib = 0;
  if (file == NULL) exit(77);
  while (fgets(text, sizeof text, file) != NULL && sscanf(text, "Rss: %llu", &kib) != 1) {}
  fclose(file);
  return kib * 1024;
}

static int is_near(uint64_t value, uint64_t expected, unsigned percent, const char* what) {
  const uint64_t off = value > expected ? value - expected : expected - value;
  if (off * 100 <= expected * percent + 100 * slack_bytes) return 1;
  fprintf(stderr, "%s: %llu, expected %llu\n", what, (unsigned long long)value,
          (unsigned long long)expected);
  return 0;
}

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

struct job {
  int row;
  uint32_t seed;
  int is_last; /* free all */
};

static void* work(void* argument) {
  struct job* job = argument;
  for (int round = 0; round < 3 * block_count; round++) {
    void** place = &blocks[job->row][next_random(&job->seed) % block_count];
    if (job->is_last) place = &blocks[job->row][round % block_count];
    if (*place != NULL) shadow[job->row] -= talus_usable_size(*place);
    free(*place);
    *place = NULL;
    if (job->is_last || next_random(&job->seed) % 4 == 0) continue;
    const uint32_t length = next_random(&job->seed) % 64 == 0 ? 300000 : 6000;
    const size_t bytes = 1 + next_random(&job->seed) % length;
    *place = malloc(bytes);
    EXPECT(*place != NULL);
    memset(*place, 1, talus_usable_size(*place));
    shadow[job->row] += talus_usable_size(*place);
  }
  return NULL;
}

static void run_threads(int generation, int is_last) {
  pthread_t threads[thread_count];
  struct job jobs[thread_count];
  for (int i = 0; i < thread_count; i++) {
    jobs[i] =
        (struct job){(i + generation) % thread_count, (uint32_t)(generation * 10 + i + 1), is_last};
    EXPECT(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
  }
  for (int i = 0; i < thread_count; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
}

struct sides {
  uint64_t ours, not_ours, kernel;
};
static struct sides look(void) {
  struct sides now;
  now.kernel = rss();
  now.ours = value_of("resident.total_bytes");
  now.not_ours = value_of("resident.not_ours_bytes");
  return now;
}

static const char* const heap_parts[] = {
    "heap.live_small_bytes", "heap.live_large_bytes", "heap.listed_bytes", "heap.remote_bytes",
    "heap.free_bytes",       "heap.slab_end_bytes",   "heap.kept_bytes",   "heap.large_end_bytes"};

static void check(uint64_t live_before, const char* what) {
  uint64_t expected = live_before, sum = 0;
  for (int i = 0; i < thread_count; i++) expected += shadow[i];
  EXPECT(is_near(value_of("heap.live_bytes"), expected, 1, what));
  for (size_t i = 0; i < sizeof heap_parts / sizeof heap_parts[0]; i++) {
    sum += value_of(heap_parts[i]);
  }
  EXPECT(sum == value_of("heap.total_bytes"));
  EXPECT(sum == value_of("space.given_bytes"));
  EXPECT(value_of("space.reserved_bytes") == sum + value_of("space.retained_bytes") +
                                                 value_of("space.purging_bytes") +
                                                 value_of("space.clean_bytes"));
  const struct sides now = look();
  EXPECT(is_near(now.ours + now.not_ours, now.kernel, 3, "both sides together"));
}

static void fork_a_child(uint64_t live_before) {
  const pid_t child = fork();
  if (child == 0) {
    check(live_before, "live bytes in a child");
    run_threads(7, 0);
    check(live_before, "live bytes in a child, later");
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(status == 0);
}

static void own_mapping(void) {
  const size_t bytes = 64u << 20;
  const struct sides before = look();
  char* own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(own != MAP_FAILED);
  memset(own, 1, bytes);
  const struct sides after = look();
  EXPECT(is_near(after.not_ours - before.not_ours, bytes, 3, "the program's own mapping"));
  EXPECT(is_near(after.ours, before.ours, 1, "Talus beside the program's own mapping"));
  munmap(own, bytes);
}

/* All addresses are used up: both calls go on working. */
static void without_memory(void) {
  const struct rlimit none = {0, 0};
  struct rlimit before;
  EXPECT(getrlimit(RLIMIT_AS, &before) == 0);
  const struct rlimit limit = {none.rlim_cur, before.rlim_max};
  const int sink = memfd_create("sink", 0);
  EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
  size_t count = 0;
  static void* taken[1 << 20];
  while (count < 1 << 20 && (taken[count] = malloc(30000)) != NULL) count++;
  EXPECT(errno == ENOMEM);
  for (int format = 0; format < 4; format++) {
    EXPECT(talus_stats_print(sink, (enum talus_stats_format)format) == 0);
  }
  EXPECT(value_of("resident.total_bytes") > 0);
  EXPECT(setrlimit(RLIMIT_AS, &before) == 0);
  while (count > 0) free(taken[--count]);
  EXPECT(lseek(sink, 0, SEEK_END) > 10000);
  close(sink);
}

int main(void) {
  uint64_t value = 0;
  rss(); /* what stdio takes once is there from here on */
  if (talus_get("resident.total_bytes", &value) == ENODATA) return 77;
  const uint64_t live_before = value_of("heap.live_bytes");
  const struct sides empty = look();
  for (int generation = 0; generation < 4; generation++) {
    run_threads(generation, 0);
    check(live_before, "live bytes");
    const struct sides full = look();
    EXPECT(is_near(full.ours - empty.ours, full.kernel - empty.kernel, 3, "growth"));
  }
  own_mapping();
  fork_a_child(live_before);
  const struct sides full = look();
  run_threads(0, 1);
  talus_trim(0);
  check(live_before, "live bytes at the end");
  const struct sides freed = look();
  EXPECT(is_near(full.ours - freed.ours, full.kernel - freed.kernel, 3, "what went back"));
  EXPECT(full.ours - freed.ours > full.ours / 2);
  without_memory();
  return 0;
}
