/* SPDX-License-Identifier: MIT
 * examples/bounded: the particles of a game come from pools with a budget. A frame that needs more
 * overflows into larger pools and then into an allocator of the program's own, which counts these
 * calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <talus/bounded.h>

enum { particle_bytes = 48, particle_count = 3000 };

/* The program's other allocator: here the C library's, and a counter. */
static size_t spilled;

static void* spill(void* context, size_t bytes, size_t alignment) {
  (void)context;
  spilled++;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void unspill(void* context, void* pointer) {
  (void)context;
  free(pointer);
}
static void* respill(void* context, void* pointer, size_t bytes, size_t alignment) {
  (void)context;
  (void)alignment; /* this program asks for none */
  return realloc(pointer, bytes);
}
static size_t spilled_size(void* context, const void* pointer) {
  (void)context;
  return talus_usable_size(pointer);
}

int main(void) {
  const talus_bounded_fallback fallback = {spill, unspill, respill, spilled_size, NULL};
  const talus_bounded_options options = {
      .pools = talus_bounded_pools_for(64), /* blocks of 16, 32, 48 and 64 bytes */
      .budget_bytes = 64 * 1024,
      .fallback = &fallback,
      .flags = TALUS_BOUNDED_TOUCH, /* no page faults in the middle of a frame */
  };
  talus_bounded* pools = talus_bounded_new(&options);
  if (pools == NULL) return 1;

  /* The thread that draws has 500 blocks of each size at hand, from the start. */
  const size_t capacities[] = {500, 500, 500, 500};
  talus_bounded_cache* cache = talus_bounded_cache_new(pools, capacities, TALUS_BOUNDED_HOT);
  if (cache == NULL) return 1;
  static void* particles[particle_count];
  for (int i = 0; i < particle_count; i++) {
    particles[i] = talus_bounded_cache_malloc(cache, particle_bytes);
  }
  const talus_bounded_numbers numbers = talus_bounded_stats(pools, 2);
  for (int i = 0; i < particle_count; i++) talus_bounded_cache_free(cache, particles[i]);
  talus_bounded_destroy(pools);

  printf("%llu of %d from the cache, %llu from the pool, %llu larger, %llu elsewhere\n",
         (unsigned long long)numbers.hits, particle_count, (unsigned long long)numbers.misses,
         (unsigned long long)numbers.overflows, (unsigned long long)numbers.routed);
  const size_t total = numbers.hits + numbers.misses + numbers.overflows + numbers.routed;
  return total == particle_count && numbers.live_blocks == 64 * 1024 / particle_bytes &&
                 numbers.routed == spilled && spilled != 0
             ? 0
             : 1;
}
