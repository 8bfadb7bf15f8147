/* SPDX-License-Identifier: MIT
 * examples/heaps: each request has a heap; its blocks need not be freed one by one, and it cannot
 * take more than its share.
 */
#include <stdio.h>
#include <string.h>
#include <talus/talus.h>

enum { request_count = 100, share_bytes = 1 << 20 };

/* Answers from a heap that ends with the request. Returns the live blocks before its end. */
static size_t serve(int request) {
  struct talus_heap_options options = {.name = "request", .limit_bytes = share_bytes};
  talus_heap* heap = talus_heap_new(&options);
  if (heap == NULL) return 0;
  for (int word = 0; word < request; word++) {
    char* text = talus_heap_malloc(heap, 64);
    if (text == NULL) break;
    strcpy(text, "answer");
  }
  /* More than its share is refused, whatever the machine has. */
  if (talus_heap_malloc(heap, 2 * share_bytes) != NULL) return 0;
  const size_t live = talus_heap_stats(heap).live_blocks;
  talus_heap_destroy(heap);
  return live;
}

int main(void) {
  size_t blocks = 0;
  for (int request = 0; request < request_count; request++) blocks += serve(request);
  printf("%d requests, %zu blocks, none freed by hand\n", request_count, blocks);
  return blocks == request_count * (request_count - 1) / 2 ? 0 : 1;
}
