/* SPDX-License-Identifier: MIT
 * examples/limits: a program that keeps to 64 MiB, and gives a cache up before it fails.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <talus/talus.h>

#define MIB ((size_t)1 << 20)

static void* cache; /* may be given up at any time */

/* Is asked before an allocation fails at the hard limit. */
static int give_up_cache(size_t wanted_bytes) {
  if (cache == NULL) return 0; /* there is nothing more to give up: let it fail */
  talus_free(cache);
  cache = NULL;
  printf("%zu MiB wanted: the cache is gone\n", wanted_bytes / MIB);
  return 1; /* try again */
}

int main(void) {
  talus_set_limits(48 * MIB, 64 * MIB);
  talus_set_limit_handler(give_up_cache);

  cache = talus_malloc(40 * MIB);
  if (cache == NULL) return 1;
  memset(cache, 1, 40 * MIB);

  void* work = talus_malloc(40 * MIB); /* fits only without the cache */
  if (work == NULL || cache != NULL) return 1;
  memset(work, 2, 40 * MIB);

  errno = 0;
  void* too_much = talus_malloc(100 * MIB);
  if (too_much != NULL || errno != ENOMEM) return 1;
  printf("100 MiB: %s\n", strerror(errno));

  /* Contents are no longer needed: the old block goes before the new one comes. */
  work = talus_realloc_no_preserve(work, 50 * MIB);
  if (work == NULL) return 1;
  talus_free(work);
  printf("given back to the kernel: %zu MiB\n", talus_trim(0) / MIB);
  talus_set_limits(0, 0);
  return 0;
}
