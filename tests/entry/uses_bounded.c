/* SPDX-License-Identifier: MIT
 * tests/entry/uses_bounded: a C program with a bounded instance, used before main, after it, by
 * threads with caches of several instances each, and in a child. Silent, exit status 0.
 */
#include "expect.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <talus/bounded.h>

enum { pools = 8, threads = 3, blocks_each = 2000 };

static talus_bounded* early;
static talus_bounded* instances[2];

__attribute__((constructor(101))) static void before_constructors(void) {
  const talus_bounded_options options = {pools, 1 << 20, NULL, NULL, 0};
  early = talus_bounded_new(&options);
  EXPECT(early != NULL && talus_bounded_cache_new(early, NULL, TALUS_BOUNDED_HOT) != NULL);
  void* block = talus_bounded_malloc(early, 100);
  EXPECT(talus_bounded_pool_of(early, block) == 6);
  talus_bounded_free(early, block);
}

__attribute__((destructor(101))) static void after_destructors(void) {
  void* block = talus_bounded_malloc(early, 100);
  EXPECT(talus_bounded_pool_of(early, block) == 6);
  memset(block, 1, 112);
  talus_bounded_free(early, block);
  EXPECT(talus_bounded_stats(early, SIZE_MAX).live_blocks == 0);
}

/* A key's destructor, behind Talus' own: the cache has ended with its thread. */
static pthread_key_t late_key;

static void end_late(void* cache) { talus_bounded_cache_destroy(cache); }

static void* leave_to_key(void* argument) {
  talus_bounded_cache* cache = talus_bounded_cache_new(instances[0], NULL, TALUS_BOUNDED_HOT);
  EXPECT(cache != NULL && pthread_setspecific(late_key, cache) == 0);
  return argument;
}

static void end_by_key(void) {
  pthread_t thread;
  EXPECT(pthread_key_create(&late_key, end_late) == 0);
  EXPECT(pthread_create(&thread, NULL, leave_to_key, NULL) == 0);
  EXPECT(pthread_join(thread, NULL) == 0 && pthread_key_delete(late_key) == 0);
  EXPECT(talus_bounded_stats(instances[0], SIZE_MAX).cached_blocks == 0);
}

static void* use_both(void* argument) {
  (void)argument;
  static const size_t capacities[pools] = {32, 32, 32, 0, 500, 500, 1, 2};
  talus_bounded_cache* caches[2];
  for (int i = 0; i < 2; i++) {
    caches[i] = talus_bounded_cache_new(instances[i], capacities, TALUS_BOUNDED_WARM);
    EXPECT(caches[i] != NULL);
  }
  static __thread void* blocks[blocks_each];
  for (size_t i = 0; i < blocks_each; i++) {
    const size_t bytes = 1 + i % 200; /* the larger ones are the heap's */
    blocks[i] = i % 3 == 0 ? talus_bounded_malloc(instances[i % 2], bytes)
                           : talus_bounded_cache_malloc(caches[i % 2], bytes);
    EXPECT(blocks[i] != NULL && talus_bounded_usable_size(instances[i % 2], blocks[i]) >= bytes);
    memset(blocks[i], (int)i, bytes);
  }
  for (size_t i = 0; i < blocks_each; i++) {
    EXPECT(*(unsigned char*)blocks[i] == (unsigned char)i);
    if (i % 5 == 0) {
      talus_bounded_cache_free(caches[i % 2], blocks[i]);
    } else {
      talus_bounded_free(instances[i % 2], blocks[i]);
    }
  }
  return NULL;
}

static void use_on_threads(void) {
  pthread_t thread[threads];
  for (int t = 0; t < threads; t++) {
    EXPECT(pthread_create(&thread[t], NULL, use_both, NULL) == 0);
  }
  for (int t = 0; t < threads; t++) EXPECT(pthread_join(thread[t], NULL) == 0);
  for (int i = 0; i < 2; i++) {
    const talus_bounded_numbers numbers = talus_bounded_stats(instances[i], SIZE_MAX);
    EXPECT(numbers.live_blocks == 0 && numbers.cached_blocks == 0);
    EXPECT(numbers.hits + numbers.misses + numbers.overflows + numbers.routed ==
           threads * blocks_each / 2);
    EXPECT(numbers.routed >= threads * blocks_each / 6);
  }
}

static void resize(void) {
  char* text = talus_bounded_calloc(instances[0], 10, 10);
  EXPECT(text != NULL && text[99] == 0);
  strcpy(text, "kept");
  text = talus_bounded_realloc(instances[0], text, 100000);
  EXPECT(talus_bounded_pool_of(instances[0], text) == -1 && strcmp(text, "kept") == 0);
  text = talus_bounded_aligned_realloc(instances[0], text, 64, 20);
  EXPECT(talus_bounded_pool_of(instances[0], text) == 3 && strcmp(text, "kept") == 0);
  EXPECT((uintptr_t)text % 64 == 0);
  talus_bounded_free(instances[0], text);
  void* aligned = talus_bounded_aligned_alloc(instances[0], 128, 1);
  EXPECT(talus_bounded_pool_of(instances[0], aligned) == 7 && (uintptr_t)aligned % 128 == 0);
  talus_bounded_free(instances[0], aligned);
}

static void fork_with_it(void) {
  void* block = talus_bounded_malloc(early, 50);
  const pid_t child = fork();
  if (child == 0) {
    talus_bounded_free(early, block);
    use_on_threads();
    _exit(talus_bounded_stats(early, SIZE_MAX).live_blocks == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  talus_bounded_free(early, block);
  EXPECT(status == 0);
}

int main(void) {
  EXPECT(talus_bounded_pools_for(128) == pools && talus_bounded_pool_bytes(pools - 1) == 128);
  const talus_bounded_options options = {pools, 1 << 20, NULL, NULL, TALUS_BOUNDED_TOUCH};
  for (int i = 0; i < 2; i++) EXPECT((instances[i] = talus_bounded_new(&options)) != NULL);
  /* In the child the counts would go on from here. */
  fork_with_it();
  use_on_threads();
  resize();
  end_by_key();
  talus_bounded_cache* cache = talus_bounded_cache_new(instances[0], NULL, TALUS_BOUNDED_HOT);
  talus_bounded_cache_destroy(cache);
  for (int i = 0; i < 2; i++) talus_bounded_destroy(instances[i]);
  return 0;
}
