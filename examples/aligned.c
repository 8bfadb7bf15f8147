/* SPDX-License-Identifier: MIT
 * examples/aligned: blocks at cache lines, at pages, and with an aligned place inside.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <talus/talus.h>

/* What stands in front of the data of a packet; the data shall be at a cache line. */
struct header {
  uint64_t length;
  uint64_t kind;
};

int main(void) {
  /* Zeroed counters, each on a cache line of its own. */
  char* counters = talus_calloc_aligned(64, 8, 64);
  if (counters == NULL || (uintptr_t)counters % 64 != 0) return 1;
  counters[3 * 64]++;
  talus_free_aligned_sized(counters, 64, 8 * 64);

  /* A header of 16 bytes, and behind it data at a multiple of 64. */
  struct header* packet = talus_memalign_at(64, sizeof *packet, sizeof *packet + 1500);
  if (packet == NULL) return 1;
  void* data = packet + 1;
  packet->length = 1500;
  memset(data, 0, packet->length);
  printf("header at ...%03x, data at ...%03x\n", (unsigned)((uintptr_t)packet & 0xfff),
         (unsigned)((uintptr_t)data & 0xfff));
  if ((uintptr_t)data % 64 != 0) return 1;
  talus_free(packet);

  /* Whole pages that grow and stay at a page boundary. */
  void* pages = talus_aligned_alloc(4096, 10000);
  void* more = talus_aligned_realloc(pages, 4096, 1000000);
  if (more == NULL || (uintptr_t)more % 4096 != 0) return 1;
  talus_free(more);
  return 0;
}
