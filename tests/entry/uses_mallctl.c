/* SPDX-License-Identifier: MIT
 * tests/entry/uses_mallctl: what mallctl.h answers, as programs written for jemalloc ask it.
 *
 * Silent, 0 when all is well. It must not use another function of Talus.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <talus/mallctl.h>

#include "expect.h"

static size_t size_of(const char* name) {
  size_t value = 0, bytes = sizeof value;
  EXPECT(mallctl(name, &value, &bytes, NULL, 0) == 0);
  EXPECT(bytes == sizeof value);
  return value;
}

int main(void) {
  const size_t large = 64 << 20;
  uint64_t epoch = 1, mine = 0, later = 0;
  size_t bytes = sizeof epoch;
  EXPECT(mallctl("epoch", &epoch, &bytes, &epoch, sizeof epoch) == 0);
  EXPECT(mallctl("thread.allocated", &mine, &bytes, NULL, 0) == 0);
  const size_t before = size_of("stats.allocated");
  char* const block = malloc(large);
  EXPECT(block != NULL);
  memset(block, 1, large);
  EXPECT(size_of("stats.allocated") >= before + large);
  EXPECT(size_of("stats.active") >= size_of("stats.allocated"));
  EXPECT(size_of("stats.mapped") >= size_of("stats.active"));
  EXPECT(size_of("stats.resident") >= large);
  EXPECT(size_of("stats.metadata") > 0);
  (void)size_of("stats.retained");
  EXPECT(mallctl("thread.allocated", &later, &bytes, NULL, 0) == 0);
  EXPECT(later >= mine + large);
  free(block);
  EXPECT(mallctl("arena.4096.purge", NULL, NULL, NULL, 0) == 0);
  EXPECT(mallctl("arena.0.decay", NULL, NULL, NULL, 0) == 0);
  EXPECT(size_of("stats.resident") < large);

  const char* version = NULL;
  bytes = sizeof version;
  EXPECT(mallctl("version", &version, &bytes, NULL, 0) == 0 && version[0] != '\0');

  ssize_t decay = 0, wanted = 2500;
  bytes = sizeof decay;
  EXPECT(mallctl("arenas.dirty_decay_ms", &decay, &bytes, &wanted, sizeof wanted) == 0);
  EXPECT(decay > 0);
  EXPECT(mallctl("arenas.dirty_decay_ms", &decay, &bytes, NULL, 0) == 0 && decay == 2500);
  wanted = -1;
  EXPECT(mallctl("arenas.dirty_decay_ms", NULL, NULL, &wanted, sizeof wanted) == EFAULT);

  uint32_t small = 0;
  bytes = sizeof small;
  EXPECT(mallctl("stats.allocated", &small, &bytes, NULL, 0) == EINVAL);
  EXPECT(mallctl("stats.allocated", NULL, NULL, &wanted, sizeof wanted) == EPERM);
  EXPECT(mallctl("prof.dump", NULL, NULL, NULL, 0) == ENOENT);
  EXPECT(mallctl("arena.x.purge", NULL, NULL, NULL, 0) == ENOENT);
  EXPECT(mallctl("arena.0.reset", NULL, NULL, NULL, 0) == ENOENT);
  return 0;
}
