/* SPDX-License-Identifier: MIT
 * examples/buffer: a heap in the program's own memory, as on a device without another: 128 KiB.
 * They serve blocks of any size, and are back at once when the heap ends.
 */
#include <stdio.h>
#include <string.h>
#include <talus/talus.h>

static char memory[128 * 1024];

int main(void) {
  const talus_provider provider = {
      .kind = TALUS_PROVIDER_BUFFER, .bytes = sizeof memory, .buffer = memory};
  const struct talus_heap_options options = {.name = "device", .provider = &provider};
  talus_heap* heap = talus_heap_new(&options);
  if (heap == NULL) return 1;

  size_t count = 0, bytes = 0;
  for (size_t size = 16; size <= 32768; size *= 2) {
    char* block = talus_heap_malloc(heap, size);
    if (block == NULL) break;
    if (block < memory || block + size > memory + sizeof memory) return 1;
    memset(block, 1, size);
    bytes += size;
    count++;
  }
  printf("%zu blocks with %zu bytes in %zu\n", count, bytes, sizeof memory);

  /* More than is left is refused, and nothing else is asked for memory. */
  if (talus_heap_malloc(heap, sizeof memory) != NULL) return 1;
  talus_heap_destroy(heap);
  return count == 12 ? 0 : 1;
}
